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
  // Features are compared after division by their root mean square over the learnt rows, so that
  // every dimension counts alike.
  bool normalised_features = false;
  Objective objective = nullptr;  // null: -sum over p's likely.top tokens of p log q
  ObjectiveOptions likely;
  std::vector<double> pass_weights = {1.0};  // of each pass
};

// Sums over rows, without the options' weights except those of passes; for the logs.
struct EagleLossParts {
  double feature = 0.0, tokens = 0.0;  // tokens: soft and hard, weighted
};

// What guesses are compared with.
struct EagleAnswers {
  torch::Tensor features;  // [rows, hidden], the target's: the guess of row r is that of row r + 1
  // [tokens, hidden]: the target's frozen LM head, or some of its rows. Both distributions are over
  // these tokens.
  torch::Tensor head;
  torch::Tensor learnt;        // int64: the rows that have losses
  torch::Tensor token_weight;  // [rows] f32, of a row's losses of tokens; undefined: 1
};

// scale * sum of the losses of all passes. outputs [passes * rows, hidden] f32 are the draft's
// guesses of each row's next feature. Logits exist for `chunk` rows at a time.
torch::Tensor EagleLoss(const torch::Tensor& outputs, const EagleAnswers& answers,
                        const EagleLossOptions& options, double scale, int64_t chunk,
                        EagleLossParts& parts);

}  // namespace foretoken::train
