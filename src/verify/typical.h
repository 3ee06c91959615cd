// The acceptance threshold of typical acceptance (V-7).
#pragma once

#include <span>

namespace foretoken {

struct TypicalRule {
  float eps = 0.09f;   // posterior_threshold: a probability above it is always accepted
  float delta = 0.3f;  // posterior_alpha: factor of exp(-entropy)
};

// Returns min(eps, delta exp(-entropy)), with the entropy in nats. A token is acceptable if its
// probability exceeds this. `p`: [vocab], sums to 1.
double TypicalThreshold(std::span<const float> p, const TypicalRule& rule);

}  // namespace foretoken
