// Accept or refuse, one proposal after another, so that the token that comes out follows the
// target's distribution whatever was proposed (V-4, V-5, V-6).
#pragma once

#include <span>
#include <vector>

#include "tree/candidate_tree.h"

namespace foretoken {

// The proposals after one node. Call in order, until one is accepted: all draws (or the first few)
// as they were drawn, then tokens that the drafter chose, each once.
class Residual {
 public:
  // `target`: [vocab], sums to 1. `draws`: null where nothing was drawn; must outlive this.
  Residual(std::vector<float> target, const Draws* draws);

  // The probability that a single draw is accepted: the mass that both distributions cover. Before
  // anything was refused; 0 where nothing was drawn.
  double Overlap() const;
  // The probability with which the next draw is to be accepted: min(1, target / draft), of what is
  // left of both.
  double AcceptDrawn(Token token) const;
  // It was not: the target keeps what the draft did not cover.
  void RefuseDrawn(Token token);
  // The same for a token that was chosen: a draw from a distribution that knows no other.
  double AcceptChosen(Token token) const { return left_[static_cast<size_t>(token)]; }
  void RefuseChosen(Token token);

  // What to draw from when every proposal was refused. [vocab], sums to 1
  std::span<const float> left() const { return left_; }

 private:
  // Makes `next` what is left, scaled to 1; where rounding left nothing of it, changes nothing.
  void Keep(std::vector<float> next);

  std::vector<float> left_;
  std::vector<float>
      draft_;  // what the next draw came from, not normalised: earlier draws are zero
  double draft_sum_ = 0;
};

}  // namespace foretoken
