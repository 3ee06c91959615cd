// Hydra heads of random weights for tests, and the engine's results for given features and tokens.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/hydra/hydra_net.h"
#include "draft/weights_testing.h"

namespace foretoken {

// The weights of `heads` heads of `layers` blocks that predict the most common follower of the last
// token, disturbed by noise.
DraftBuilder RandomHydra(const TestTarget& target, int heads, int layers, uint64_t seed);
DraftInfo HydraInfo(const TestTarget& target, int heads, int layers);

struct HydraTrace {
  std::vector<float> state;                // [hidden] after the last feature
  std::vector<std::vector<float>> logits;  // [vocab] of head k after path[0] ... path[k]
};
// The engine's results for the draft in the file `draft`. `features`: [t, hidden], the target's
// final-norm states of a text. `path`: the root, then drafted tokens. REQUIRES: t >= 1; all rows
// fit target.max_rows().
Result<HydraTrace> TraceHydra(const std::string& draft, Model& target,
                              std::span<const float> features, std::span<const Token> path);

}  // namespace foretoken
