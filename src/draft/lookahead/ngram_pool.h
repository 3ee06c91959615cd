// Lookahead's n-gram pool: the continuations seen after a token, most recent first.
#pragma once

#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/types.h"

namespace foretoken {

class NgramPool {
 public:
  // Keeps at most `per_token` continuations per token.
  explicit NgramPool(int per_token) : per_token_(static_cast<size_t>(per_token)) {}

  // Records `continuation` as the most recent one after `first`; beyond the limit, drops the
  // oldest.
  void Remember(Token first, std::span<const Token> continuation) {
    auto& kept = pool_[first];
    std::vector<Token> latest(continuation.begin(), continuation.end());
    std::erase(kept, latest);
    kept.insert(kept.begin(), std::move(latest));
    if (kept.size() > per_token_) kept.pop_back();
  }

  std::span<const std::vector<Token>> After(Token first) const {
    const auto found = pool_.find(first);
    if (found == pool_.end()) return {};
    return found->second;
  }

  void Clear() { pool_.clear(); }

  // Approximate memory in bytes.
  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [first, kept] : pool_) {
      sum += sizeof(first) + sizeof(kept);
      for (const std::vector<Token>& each : kept) {
        sum += sizeof(each) + each.capacity() * sizeof(Token);
      }
    }
    return sum;
  }

 private:
  size_t per_token_;
  std::unordered_map<Token, std::vector<std::vector<Token>>> pool_;
};

}  // namespace foretoken
