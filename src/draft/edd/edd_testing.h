// EDD drafts of random weights for tests, and the engine's draft steps on given hidden states and
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
// Metadata of an EDD draft with hidden state `tap` as its soft prompt, or of a VDM if `tap` is
// nullopt.
DraftInfo EddInfo(const TestTarget& target, std::optional<int> tap, int layers = 1);

// Logits [path.size(), vocab] of draft steps in f32. `path` is the root and the drafted tokens
// after it, which are fed one by one after the committed text. `tokens`: that text, x_0 ...
// x_{t-1}, without the root. `states`: [t, hidden], the target's hidden states of these tokens (not
// read by a VDM). `chunk`: maximum number of rows of the text per pass. REQUIRES: t >= 1.
std::vector<float> TraceEdd(EddNet& net, std::span<const Token> tokens,
                            std::span<const float> states, std::span<const Token> path,
                            int chunk = 1 << 20);
// TraceEdd for the draft in the file `draft`.
Result<std::vector<float>> TraceEdd(const std::string& draft, Model& target,
                                    std::span<const Token> tokens, std::span<const float> states,
                                    std::span<const Token> path);

}  // namespace foretoken
