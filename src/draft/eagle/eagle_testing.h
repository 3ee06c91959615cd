// EAGLE drafts of random weights for tests, and the engine's draft steps on given tokens and
// features, for comparing training with inference.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/eagle/eagle_net.h"
#include "draft/weights_testing.h"

namespace foretoken {

// The weights of a draft for `target` that predicts the most common follower of a token, perturbed
// by random weights for features and attention.
DraftBuilder RandomEagle(const TestTarget& target, uint64_t seed);

// Outputs and logits of draft steps, in f32.
struct EagleTrace {
  int rows = 0;               // tokens.size() - 1 pairs, then the drafted tokens
  std::vector<float> hidden;  // [rows, hidden]
  std::vector<float> logits;  // [rows, vocab]
};

// The engine's results for a text, its features and a chain of drafted tokens. Row i is the output
// of pair i (true feature i, token i + 1); after the pairs, drafted tokens are fed one draft step
// after another, each with the output before it as its feature. `tokens`: x_0 ... x_t, the root
// last. `features`: [t, hidden], the target's final-norm states of x_0 ... x_{t-1}. `drafted`: a
// chain below the root. REQUIRES: t >= 1; all rows fit net.max_rows().
EagleTrace TraceEagle(EagleModule& net, std::span<const Token> tokens,
                      std::span<const float> features, std::span<const Token> drafted);
// TraceEagle for the draft in the file `draft`.
Result<EagleTrace> TraceEagle(const std::string& draft, Model& target,
                              std::span<const Token> tokens, std::span<const float> features,
                              std::span<const Token> drafted);

}  // namespace foretoken
