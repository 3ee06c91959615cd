// Whether a drafter's confidence is what it says (M-6).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tree/candidate_tree.h"

namespace foretoken {

// The drafter's likeliest token after a node that the target reached.
struct JudgedGuess {
  float confidence = 0;  // its probability in the drafter's eyes
  bool accepted = false;
};

// The guesses along an accepted path: for every node of it that has candidates, the best-scored
// one. What was drafted behind a refused token was never judged and is left out, as is what follows
// the first `written` tokens: the answer ended there.
std::vector<JudgedGuess> GuessesAlong(const CandidateTree& tree, std::span<const Node> path,
                                      size_t written);

// Guesses of about the same confidence, counted.
struct ConfidenceBin {
  double count = 0, confidence = 0, accepted = 0;  // sums

  void Add(const JudgedGuess& guess);
};

// Ten equal bins.
using ConfidenceBins = std::array<ConfidenceBin, 10>;

// The place among them. A confidence is a quotient of probabilities: what differs from a bin's
// lower edge by its rounding alone is in the bin.
size_t BinOf(float confidence);

// Expected calibration error over ten equal bins of confidence: the mean over all guesses of how
// far their bin's acceptance lies from its mean confidence. 0 for no guesses.
double CalibrationError(std::span<const JudgedGuess> guesses);

}  // namespace foretoken
