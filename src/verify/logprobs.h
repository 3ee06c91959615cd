// Log-probabilities of chosen tokens.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

// Natural log-probabilities at the position of one token of an answer. The distribution is the
// model's own: the softmax of its logits before bias, penalties, temperature and truncation, so
// sampling parameters do not affect it. Under a LogitFilter it is restricted to the tokens that may
// follow, so that a forced token has 0.
struct TokenLogprobs {
  float chosen = 0;              // -infinity for a token that only a bias could choose
  std::vector<RankedToken> top;  // the likeliest tokens, best first; of equals, lowest id first
};

// Returns the log-probabilities of `chosen` and of the `count` likeliest tokens, or of fewer if
// fewer have any mass. `logits`: [vocab], no NaN. Tokens with a logit of +infinity share all mass
// equally. If all logits are -infinity, all tokens share it equally.
TokenLogprobs LogprobsOf(std::span<const float> logits, Token chosen, int count);

}  // namespace foretoken
