// Rejection sampling of proposals, one after another. The resulting token follows the target's
// distribution for any proposals (V-4, V-5, V-6).
#pragma once

#include <span>
#include <vector>

#include "tree/candidate_tree.h"

namespace foretoken {

// The proposals after one node. Judge them in order until one is accepted: first all draws (or the
// first few) in the order drawn, then the tokens that the drafter chose, each once.
class Residual {
 public:
  // `target`: [vocab], sums to 1. `draws`: null if nothing was drawn; must outlive this.
  Residual(std::vector<float> target, const Draws* draws);

  // The probability that a single draw is accepted: the mass that both distributions share. Valid
  // before the first refusal; 0 if nothing was drawn.
  double Overlap() const;
  // The probability with which to accept the next draw: min(1, target / draft), over what is left
  // of both distributions.
  double AcceptDrawn(Token token) const;
  // Records that the draw was refused: the target keeps the mass that the draft did not cover.
  void RefuseDrawn(Token token);
  // Like AcceptDrawn, but for a chosen token, which is a draw from a point mass.
  double AcceptChosen(Token token) const { return left_[static_cast<size_t>(token)]; }
  // Records that the chosen token was refused: the target keeps all other mass.
  void RefuseChosen(Token token);

  // The distribution [vocab] to draw from once every proposal was refused; it sums to 1.
  std::span<const float> left() const { return left_; }

 private:
  // Replaces what is left of the target with `next`, scaled to sum to 1. Does nothing if rounding
  // left no mass.
  void Keep(std::vector<float> next);

  std::vector<float> left_;
  std::vector<float> draft_;  // distribution of the next draw, unnormalised; 0 for earlier draws
  double draft_sum_ = 0;
};

}  // namespace foretoken
