// What a run will take and may reach, told once its first steps have shown its pace.
#pragma once

#include <optional>
#include <string>

#include "checkpoint_file.h"
#include "corpus.h"

namespace foretoken::train {

// What a recorded run had reached after as many learnt tokens (recorded_runs.def).
struct RecordedTau {
  double tau = 0.0;     // teacher-forced
  std::string target;   // of the recorded run
  bool beyond = false;  // asked for more tokens than were recorded
};

// From the recorded run of `method` whose target's width is nearest to `hidden`; between recorded
// points by the logarithm of the tokens, 1 at its beginning. Nothing where the method has no run.
std::optional<RecordedTau> RecordedTauOf(const std::string& method, int64_t hidden, double tokens);

// Learnt tokens after which that run had a teacher-forced tau of `tau`; nothing where it never had.
std::optional<double> RecordedTokensTo(const std::string& method, int64_t hidden, double tau);

// Learnt tokens of an epoch of the corpus.
double LearntInEpoch(const Recipe& recipe, const Corpus& corpus);

// "estimate: 165 steps learn 212 k tokens, 0.31 times the 680 k of the data, in 2m51s on this
// machine", and in a second line what a recorded run had reached after as many tokens.
// REQUIRES: at least one step was taken.
std::string DescribeForecast(const Recipe& recipe, const Corpus& corpus, const RunState& state);

}  // namespace foretoken::train
