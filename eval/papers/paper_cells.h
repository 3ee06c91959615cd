// Computes the cells of a paper's table from the answers to its questions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/papers/paper_table.h"
#include "eval/spec/spec_report.h"

namespace foretoken {

// One method's answers to the questions of a part.
struct PaperSample {
  const SpecRun* run = nullptr;
  size_t method = 0, baseline = 0;    // indices of the method and its baseline in the run's methods
  std::span<const size_t> questions;  // indices in the run
  std::span<const size_t> passes;     // indices in the run
  // Summary of all questions of the part. Only metrics that do not depend on time may use it,
  // because it stays the same when questions and passes are resampled.
  const SpecEntry* entry = nullptr;
  bool with_prefill = true;  // whether speed-ups and token rates include prefill time
  int gamma = 0;             // draft length in E(Spd) (M-4); 0: the mean drafted depth
};

struct PaperValue {
  double value = 0;
  // The 95 % interval. Only metrics that depend on time have one; means over parts have none.
  std::optional<Interval> interval;
};

// Computes a metric; adds a bootstrap interval over the sample's questions and passes if the metric
// depends on time. REQUIRES: the metric is listed in paper_metrics.def; neither sample.questions
// nor sample.passes is empty.
PaperValue Evaluate(const PaperMetric& metric, const PaperSample& sample);
// Formats a value as its metric is printed, for example "1.98x [1.37, 2.49]".
std::string ValueText(const PaperMetric& metric, const PaperValue& value);

}  // namespace foretoken
