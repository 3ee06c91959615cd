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
  // Divides each dimension of the features by its root mean square over the target features that
  // are compared, so that all dimensions have equal weight.
  bool normalised_features = false;
  // null: -sum p log q over the ObjectiveOptions::top most probable tokens of p
  Objective objective = nullptr;
  ObjectiveOptions objective_options;
  std::vector<double> pass_weights = {1.0};  // [passes]
};

// Sums over rows, for the logs. Both are weighted by pass; `feature_loss` lacks the factor
// EagleLossOptions::feature.
struct EagleLossParts {
  double feature_loss = 0.0, token_loss = 0.0;  // token_loss: soft and hard, with their factors
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

// Returns `scale` times the sum over passes of EagleLossOptions::pass_weights times the losses of
// the rows. outputs [passes * rows, hidden] f32: the draft's predictions of each row's next
// feature. Holds logits of `chunk` rows at a time.
torch::Tensor EagleLoss(const torch::Tensor& outputs, const EagleLossTargets& loss_targets,
                        const EagleLossOptions& options, double scale, int64_t chunk,
                        EagleLossParts& parts);

}  // namespace foretoken::train
