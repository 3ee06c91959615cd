// Calibration of a drafter's confidence (M-6).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tree/candidate_tree.h"

namespace foretoken {

// The drafter's most probable token after a node that the target reached.
struct JudgedGuess {
  float confidence = 0;  // the drafter's probability for it
  bool accepted = false;
};

// Judges the best-scored candidate after each node of an accepted path. Nodes without candidates
// are skipped. Candidates below a rejected token are left out, because the target never judged
// them. So is everything after the first `written` tokens, where the answer ended.
std::vector<JudgedGuess> GuessesAlong(const CandidateTree& tree, std::span<const Node> path,
                                      size_t written);

// Sums over guesses of similar confidence.
struct ConfidenceBin {
  double count = 0, confidence = 0, accepted = 0;

  void Add(const JudgedGuess& guess);
};

// Ten bins of equal width over [0, 1].
using ConfidenceBins = std::array<ConfidenceBin, 10>;

// Index of the bin that holds `confidence`. A confidence is a quotient of probabilities, so
// rounding may move it just below the lower edge of its bin; it still counts in that bin.
size_t BinOf(float confidence);

// Expected calibration error over ten equal bins: the mean over all guesses of the distance between
// their bin's acceptance rate and its mean confidence. 0 without guesses.
double CalibrationError(std::span<const JudgedGuess> guesses);

}  // namespace foretoken
