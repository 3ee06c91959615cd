// The figures of a paper's table, from the answers to its questions.
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
  size_t method = 0, plain = 0;  // of the run
  std::span<const size_t> questions;
  std::span<const size_t> passes;
  const SpecEntry* entry = nullptr;  // of these questions
  bool with_prefill = true;          // the clock
  int gamma = 0;                     // of E(Spd); 0: the mean depth drafted
};

struct PaperValue {
  double value = 0;
  std::optional<Interval> interval;  // 95 %, of what depends on the clock
};

// REQUIRES: the metric is one of paper_metrics.def, sample.questions is not empty.
PaperValue Evaluate(const PaperMetric& metric, const PaperSample& sample);
// "1.98x [1.37, 2.49]".
std::string ValueText(const PaperMetric& metric, const PaperValue& value);

}  // namespace foretoken
