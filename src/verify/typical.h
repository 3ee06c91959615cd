// The acceptance threshold of typical acceptance (V-7).
#pragma once

#include <span>

namespace foretoken {

struct TypicalRule {
  float eps = 0.09f;   // posterior_threshold: a probability above it is always accepted
  float delta = 0.3f;  // posterior_alpha: factor of exp(-entropy)
};

// A token is acceptable where its probability exceeds min(eps, delta exp(-entropy)).
// `p`: [vocab], sums to 1.
double TypicalThreshold(std::span<const float> p, const TypicalRule& rule);

}  // namespace foretoken
