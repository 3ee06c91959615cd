// The losses of EAGLE and HASS (H-23, H-24).
#pragma once

#include <torch/types.h>

#include <vector>

#include "eagle/objective.h"

namespace foretoken::train {

// The loss of a row is feature * mean SmoothL1(g, f) + soft * -sum p log q + hard * (objective on
// likely tokens). f is the target's next feature, g the draft's prediction of it; p and q are the
// token distributions that the LM head gives for f and g.
struct EagleLossOptions {
  double feature = 1.0, soft = 0.1, hard = 0.0;
  // Divides features by their root mean square over the rows with a loss before comparing them, so
  // that all dimensions have equal weight.
  bool normalised_features = false;
  Objective objective = nullptr;  // null: -sum over p's likely.top tokens of p log q
  ObjectiveOptions likely;
  std::vector<double> pass_weights = {1.0};  // [passes]
};

// Sums over rows, for the logs. Both are weighted by pass; `feature` lacks the factor
// EagleLossOptions::feature.
struct EagleLossParts {
  double feature = 0.0, tokens = 0.0;  // tokens: soft and hard, with their factors
};

// The training targets of a draft's outputs.
struct EagleLossTargets {
  torch::Tensor features;  // [rows, hidden], the target's; the output of row r predicts row r + 1
  // [tokens, hidden]: the target's frozen LM head, or some of its rows. p and q are distributions
  // over these tokens.
  torch::Tensor head;
  torch::Tensor loss_rows;     // int64: the rows with losses
  torch::Tensor token_weight;  // [rows] f32: weights of the rows' token losses; undefined: all 1
};

// Returns `scale` times the sum of the losses of all passes. outputs [passes * rows, hidden] f32:
// the draft's predictions of each row's next feature. Holds logits of `chunk` rows at a time.
torch::Tensor EagleLoss(const torch::Tensor& outputs, const EagleLossTargets& loss_targets,
                        const EagleLossOptions& options, double scale, int64_t chunk,
                        EagleLossParts& parts);

}  // namespace foretoken::train
