// The losses of EAGLE and HASS (H-23, H-24).
#pragma once

#include <torch/types.h>

#include <vector>

#include "eagle/objective.h"

namespace foretoken::train {

// With f the target's next feature, g the draft's, p and q their token distributions:
// feature * mean SmoothL1(g, f) + soft * -sum p log q + hard * the objective on likely tokens.
struct EagleLossOptions {
  double feature = 1.0, soft = 0.1, hard = 0.0;
  Objective objective = nullptr;  // null: -sum over p's likely.top tokens of p log q
  ObjectiveOptions likely;
  std::vector<double> pass_weights = {1.0};  // of each pass
};

// Sums over rows, without the options' weights except those of passes; for the logs.
struct EagleLossParts {
  double feature = 0.0, tokens = 0.0;  // tokens: soft and hard, weighted
};

// scale * sum of the losses of `learnt` rows (int64) in all passes. outputs [passes * rows, hidden]
// f32 are the draft's guesses of each row's next feature; features [rows, hidden] are the target's,
// whose row r + 1 they are compared with; head [vocab, hidden] is the target's frozen LM head.
// Logits exist for `chunk` rows at a time.
torch::Tensor EagleLoss(const torch::Tensor& outputs, const torch::Tensor& features,
                        const torch::Tensor& head, const torch::Tensor& learnt,
                        const EagleLossOptions& options, double scale, int64_t chunk,
                        EagleLossParts& parts);

}  // namespace foretoken::train
