// Drafts of random weights for tests, and the engine's draft steps on given hidden states and
// tokens, for comparing training with inference.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/edd/edd_net.h"
#include "draft/weights_testing.h"

namespace foretoken {

// The weights of a draft for `target` that predicts the most common follower of a token, disturbed
// by a random layer. Its LM head is the target's.
DraftBuilder RandomEdd(const TestTarget& target, uint64_t seed, int layers = 1);
// Metadata of an EDD draft whose soft prompt is hidden state `tap`; nullopt: of a VDM.
DraftInfo EddInfo(const TestTarget& target, std::optional<int> tap, int layers = 1);

// Logits [path.size(), vocab] of draft steps in f32: of the root path[0] and of the drafted tokens
// after it, fed one by one after the committed text. tokens: x_0 ... x_{t-1} without the root;
// states: [t, hidden] the target's, of these tokens (not read by a VDM). `chunk`: most rows of the
// text per pass. REQUIRES: t >= 1.
std::vector<float> TraceEdd(EddNet& net, std::span<const Token> tokens,
                            std::span<const float> states, std::span<const Token> path,
                            int chunk = 1 << 20);
// The same for the draft in a file.
Result<std::vector<float>> TraceEdd(const std::string& draft, Model& target,
                                    std::span<const Token> tokens, std::span<const float> states,
                                    std::span<const Token> path);

}  // namespace foretoken
