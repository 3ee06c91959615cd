// Ranks of a given text's tokens in a drafter's guesses (head_topk, M-3).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "model/model.h"

namespace foretoken {

// Sums over texts. Step k guesses the token at distance k + 1 from the root, given the tokens
// between them.
class GuessRanks {
 public:
  static constexpr int kMost = 5;  // guesses considered for each list

  explicit GuessRanks(int steps) : steps_(static_cast<size_t>(steps)) {}

  // Has the target decode `text` token by token. At every root from token `prompt` on, `drafter`
  // guesses the tokens that follow. REQUIRES: 1 <= prompt < text.size() <= the model's context.
  // Errors: out of memory.
  Status Add(Model& target, Drafter& drafter, std::span<const Token> text, int prompt);

  int steps() const { return static_cast<int>(steps_.size()); }
  // Number of times the drafter had a list of guesses for the step.
  int64_t asked(int step) const { return steps_[static_cast<size_t>(step)].asked; }
  // Share of those lists that have the text's token among their first `top`; 0 without lists.
  // REQUIRES: 1 <= top <= kMost.
  double TopShare(int step, int top) const;

 private:
  struct Step {
    int64_t asked = 0;
    std::array<int64_t, kMost> at = {};  // [rank] lists that have the token at that rank
  };
  void Count(const CandidateTree& tree);

  std::vector<Step> steps_;
};

}  // namespace foretoken
