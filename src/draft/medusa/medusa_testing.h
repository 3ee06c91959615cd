// Medusa heads of random weights for tests, and the engine's results for given features.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/medusa/medusa_net.h"
#include "draft/weights_testing.h"

namespace foretoken {

// The weights of `heads` heads of `layers` blocks that predict the most common followers, disturbed
// by noise.
DraftBuilder RandomMedusa(const TestTarget& target, int heads, int layers, uint64_t seed);
DraftInfo MedusaInfo(const TestTarget& target, int heads, int layers);

// The logits [rows, vocab] of every head of the draft in a file. `features`: [rows, hidden], the
// target's final-norm states.
Result<std::vector<std::vector<float>>> TraceMedusa(const std::string& draft, Model& target,
                                                    std::span<const float> features);

}  // namespace foretoken
