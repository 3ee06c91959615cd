// How likely the model finds what was chosen.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

// Of one token of an answer, natural logarithms. The distribution is the model's own: the softmax
// of its logits before bias, penalties, temperature and cuts, whatever was sampled by. Under a
// LogitFilter it is that of the tokens that may follow, so that a token that is forced has 0.
struct TokenLogprobs {
  float chosen = 0;              // -infinity for a token that only a bias could choose
  std::vector<RankedToken> top;  // the likeliest, best first, the lowest id of equals
};

// `logits`: [vocab], no NaN. Of +infinities, each has an equal share; where all are -infinity, all
// have. `top` has `count` tokens, or fewer where fewer have a share.
TokenLogprobs LogprobsOf(std::span<const float> logits, Token chosen, int count);

}  // namespace foretoken
