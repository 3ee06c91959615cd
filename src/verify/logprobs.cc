#include "verify/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foretoken {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// A logit relative to the highest one, with softmax's limit where that is infinite.
float Below(float logit, float top) {
  if (!std::isinf(top)) return logit - top;
  return logit == top ? 0.0f : kNever;
}

// The result if all `vocab` tokens are ruled out. Softmax has no limit there, so shares are equal,
// as in sampling.
TokenLogprobs EqualShares(size_t vocab, int count) {
  const auto share = static_cast<float>(-std::log(static_cast<double>(vocab)));
  TokenLogprobs result{share, {}};
  const auto kept = std::min(static_cast<size_t>(count), vocab);
  for (size_t i = 0; i < kept; ++i) result.top.push_back({static_cast<Token>(i), share});
  return result;
}

}  // namespace

TokenLogprobs LogprobsOf(std::span<const float> logits, Token chosen, int count) {
  const float top = *std::ranges::max_element(logits);
  if (top == kNever) return EqualShares(logits.size(), count);
  double sum = 0;  // summed in order of ids, so that the bits never depend on `count`
  std::vector<Token> order;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kNever) continue;
    sum += std::exp(static_cast<double>(Below(logits[i], top)));
    order.push_back(static_cast<Token>(i));
  }
  const auto logprob = [&](Token token) {
    const float below = Below(logits[static_cast<size_t>(token)], top);
    return static_cast<float>(static_cast<double>(below) - std::log(sum));
  };
  const auto kept = std::min(static_cast<size_t>(count), order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [logits](Token a, Token b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  TokenLogprobs result{logprob(chosen), {}};
  for (size_t i = 0; i < kept; ++i) result.top.push_back({order[i], logprob(order[i])});
  return result;
}

}  // namespace foretoken
