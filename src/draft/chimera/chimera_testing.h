// Chimera drafts of random weights for tests, and the engine's results for given features and
// tokens.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/chimera/chimera_net.h"
#include "draft/weights_testing.h"

namespace foretoken {

struct ChimeraShape {
  int heads = 4, ngram = 3;
  bool shared_head = false;
};
// A draft whose heads predict the most common follower of the last token, perturbed by random
// weights.
DraftBuilder RandomChimera(const TestTarget& target, const ChimeraShape& shape, uint64_t seed);
DraftInfo ChimeraInfo(const TestTarget& target, const ChimeraShape& shape);

// The engine's logits [vocab] of head k after k drafted tokens, for every head k up to the number
// of drafted tokens. `tokens`: the text x_0 ... x_t, the root last. `features`: [t, hidden], the
// target's final-norm states of x_0 ... x_{t-1}. `drafted`: a chain below the root. REQUIRES: t >=
// 1; all rows, two a token, fit target.max_rows().
Result<std::vector<std::vector<float>>> TraceChimera(const std::string& draft, Model& target,
                                                     std::span<const Token> tokens,
                                                     std::span<const float> features,
                                                     std::span<const Token> drafted);

}  // namespace foretoken
