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
  size_t method = 0, plain = 0;       // indices in the run of the method and its baseline
  std::span<const size_t> questions;  // indices in the run
  std::span<const size_t> passes;     // all passes of the run, or a resample of them
  const SpecEntry* entry = nullptr;   // summary of these questions
  bool with_prefill = true;           // whether speed-ups include prefill time
  int gamma = 0;                      // draft length in E(Spd); 0: the mean depth drafted
};

struct PaperValue {
  double value = 0;
  std::optional<Interval> interval;  // 95 %; for metrics that depend on time
};

// Computes a metric, and its interval by bootstrap if it depends on time. REQUIRES: the metric is
// listed in paper_metrics.def, sample.questions is not empty.
PaperValue Evaluate(const PaperMetric& metric, const PaperSample& sample);
// Formats a value in the form in which its metric is printed, for example "1.98x [1.37, 2.49]".
std::string ValueText(const PaperMetric& metric, const PaperValue& value);

}  // namespace foretoken
