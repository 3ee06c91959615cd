// HASS's losses on the target's likely tokens: Top-K and its alternatives (H-24; HASS, Table 3).
#pragma once

#include <torch/types.h>

#include <span>
#include <string_view>

namespace foretoken::train {

struct ObjectiveOptions {
  int64_t top = 10;          // K
  double mass = 0.9;         // P
  double temperature = 1.0;  // temperature of soft ranks (recall) or of logit differences (bild)
};

// Returns the loss of each row of f32 logits [rows, vocab]: [rows]. Differentiable in `draft`.
using Objective = torch::Tensor (*)(const torch::Tensor& target, const torch::Tensor& draft,
                                    const ObjectiveOptions& options);

struct ObjectiveEntry {
  std::string_view name;
  Objective loss;  // null for topk, which is fused into the cross-entropy
};
std::span<const ObjectiveEntry> AllObjectives();
// Returns null if there is none of that name.
const ObjectiveEntry* FindObjective(std::string_view name);

}  // namespace foretoken::train
