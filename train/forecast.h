// Forecasts a run's duration from the pace of its first steps, and its acceptance length from
// recorded runs.
#pragma once

#include <optional>
#include <string>

#include "budget.h"
#include "checkpoint_file.h"
#include "corpus.h"

namespace foretoken::train {

// The acceptance length of a recorded run after training on a number of tokens with a loss
// (recorded_runs.def).
struct RecordedTau {
  double tau = 0.0;             // teacher-forced
  std::string target;           // name of the recorded run's target
  bool is_past_record = false;  // more tokens than the record covers: tau is that of its last point
};

// Looks up the recorded run of `method` whose steps have the most similar number of tokens to
// `step_tokens` (by their ratio) and, of several such runs, the one whose target's width is nearest
// to `hidden`. Interpolates tau linearly in the logarithm of the tokens; before the first recorded
// point, linearly in the tokens from tau 1. Returns nothing if the method has no recorded run.
std::optional<RecordedTau> RecordedTauOf(const std::string& method, int64_t hidden,
                                         int64_t step_tokens, double tokens);

// The inverse of RecordedTauOf: returns how many tokens with a loss the recorded run had consumed
// when it reached the teacher-forced tau `tau`, or nothing if it never did.
std::optional<double> RecordedTokensTo(const std::string& method, int64_t hidden,
                                       int64_t step_tokens, double tau);

// Returns the number of tokens with a loss in an epoch of the training documents, weighted by
// DataSource::weight.
double LossTokensPerEpoch(const Recipe& recipe, const Corpus& corpus);

// Returns how long training still takes, without evaluations if the run has no budget. REQUIRES: at
// least one step was taken.
double SecondsLeft(const Recipe& recipe, const ReadingLeft& reading, const RunState& state);

// Formats a count of tokens: "950", "212 k", "3.4 M".
std::string CountText(double count);

// Returns "estimate: 165 steps learn 212 k tokens, 0.31 times the 680 k of the data, in 2m51s in
// all on this machine; learning rate 0.0004, 128 tokens a step". Of a draft, more lines: what the
// values of tau on the progress line mean and, if the method has a recorded run, its tau after as
// many tokens. REQUIRES: at least one step was taken.
std::string DescribeForecast(const Recipe& recipe, const Corpus& corpus, const ReadingLeft& reading,
                             const RunState& state);

}  // namespace foretoken::train
