// What HASS may learn from the target's likely tokens, beside the plain Top-K loss (H-24; HASS,
// Table 3).
#pragma once

#include <torch/types.h>

#include <span>
#include <string_view>

namespace foretoken::train {

struct ObjectiveOptions {
  int64_t top = 10;          // K
  double mass = 0.9;         // P
  double temperature = 1.0;  // of ranks (recall) or of differences (bild)
};

// The losses of rows of logits [rows, vocab], f32: [rows]. Differentiable in `draft`.
using Objective = torch::Tensor (*)(const torch::Tensor& target, const torch::Tensor& draft,
                                    const ObjectiveOptions& options);

struct ObjectiveEntry {
  std::string_view name;
  Objective loss;  // null: topk, which is part of the cross-entropy
};
std::span<const ObjectiveEntry> AllObjectives();
// Null where there is none of that name.
const ObjectiveEntry* FindObjective(std::string_view name);

}  // namespace foretoken::train
