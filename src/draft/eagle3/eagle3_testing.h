// EAGLE-3 drafts of random weights for tests, and the engine's draft steps on given hidden states
// and tokens.
#pragma once

#include <span>
#include <vector>

#include "draft/eagle/eagle_testing.h"
#include "draft/eagle3/eagle3_net.h"

namespace foretoken {

// The target's tokens in the draft's vocabulary, ascending.
std::vector<Token> Eagle3Vocabulary(int target_vocab);

// The weights of a draft for `target` that predicts, for each token, the most common token two
// steps after it, disturbed by random weights. Guesses below depth 1 are arbitrary. The embedding
// is the target's.
DraftBuilder RandomEagle3(const TestTarget& target, uint64_t seed);
// The metadata of that draft's file. Its three taps are distinct even for a target of two layers.
DraftInfo Eagle3Info(const TestTarget& target);

// Like TraceEagle, but with `features` fused from `tapped` [t, 3 * hidden]: the three hidden states
// of x_0 ... x_{t-1}, concatenated. Logits are [rows, draft vocabulary].
EagleTrace TraceEagle3(Eagle3Net& net, std::span<const Token> tokens, std::span<const float> tapped,
                       std::span<const Token> drafted);

}  // namespace foretoken
