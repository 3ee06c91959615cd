// How far down a drafter's lists the words of a given text stand (head_topk, M-3).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "model/model.h"

namespace foretoken {

// Sums over texts. Step k guesses the token k + 1 behind the root, told those between.
class GuessRanks {
 public:
  static constexpr int kMost = 5;  // places of a list that are looked at

  explicit GuessRanks(int steps) : steps_(static_cast<size_t>(steps)) {}

  // Gives `text` to the target token by token and asks `drafter`, at every root from token `prompt`
  // on, for the tokens that follow. REQUIRES: 1 <= prompt < text.size() <= the model's context.
  // Errors: out of memory.
  Status Add(Model& target, Drafter& drafter, std::span<const Token> text, int prompt);

  int steps() const { return static_cast<int>(steps_.size()); }
  // How often the drafter had a list for the step.
  int64_t asked(int step) const { return steps_[static_cast<size_t>(step)].asked; }
  // The share of lists that have the text's token among their first `top`; 0 where none was asked.
  // REQUIRES: 1 <= top <= kMost.
  double TopShare(int step, int top) const;

 private:
  struct Step {
    int64_t asked = 0;
    std::array<int64_t, kMost> at = {};  // lists that have the token at this place
  };
  void Count(const CandidateTree& tree);

  std::vector<Step> steps_;
};

}  // namespace foretoken
