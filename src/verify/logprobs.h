// Log-probabilities of chosen tokens.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

// Natural logarithms for one token of an answer. The distribution is the model's own: the softmax
// of its logits before bias, penalties, temperature and truncation, whatever the sampling. Under a
// LogitFilter it is restricted to the tokens that may follow, so that a forced token has 0.
struct TokenLogprobs {
  float chosen = 0;              // -infinity for a token that only a bias could choose
  std::vector<RankedToken> top;  // the likeliest, best first; among equals, lowest id first
};

// `logits`: [vocab], no NaN. Tokens with a logit of +infinity share all mass equally. If all logits
// are -infinity, all tokens share it equally. `top` gets `count` tokens, or fewer if fewer have any
// mass.
TokenLogprobs LogprobsOf(std::span<const float> logits, Token chosen, int count);

}  // namespace foretoken
