// Whether a drafter's confidence is what it says (methods.md 8, ECE).
#pragma once

#include <span>
#include <vector>

#include "tree/candidate_tree.h"

namespace foretoken {

// The drafter's likeliest token after a node that the target reached.
struct Guess {
  float confidence = 0;  // its probability in the drafter's eyes
  bool accepted = false;
};

// The guesses along an accepted path: for every node of it that has candidates, the best-scored
// one. What was drafted behind a refused token was never judged and is left out.
std::vector<Guess> GuessesAlong(const CandidateTree& tree, std::span<const Node> path);

// Expected calibration error over ten equal bins of confidence: the mean over all guesses of how
// far their bin's acceptance lies from its mean confidence. 0 for no guesses.
double CalibrationError(std::span<const Guess> guesses);

}  // namespace foretoken
