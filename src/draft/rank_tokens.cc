#include "draft/rank_tokens.h"

#include <algorithm>
#include <numeric>

namespace foretoken {
namespace {

constexpr size_t kMaxParts = 10;  // maximum parts of the cross-validation

// All tokens, the one with the highest count first. Ties are broken by `other_counts`, then by id.
std::vector<Token> Ranked(std::span<const int64_t> counts, std::span<const int64_t> other_counts) {
  std::vector<Token> tokens(counts.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::ranges::stable_sort(tokens, [&](Token a, Token b) {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    return counts[i] != counts[j] ? counts[i] > counts[j] : other_counts[i] > other_counts[j];
  });
  return tokens;
}

// Adds to found[rank] the count of the token at that rank.
void LookUp(std::span<const Token> ranked, std::span<const int64_t> counts,
            std::span<int64_t> found) {
  for (size_t rank = 0; rank < ranked.size(); ++rank) {
    found[rank] += counts[static_cast<size_t>(ranked[rank])];
  }
}

// The share of `found` in the first `step` ranks, in the first 2 * `step` ranks, and so on; the
// last share covers all ranks.
std::vector<float> Shares(std::span<const int64_t> found, int step) {
  const int64_t total = std::accumulate(found.begin(), found.end(), int64_t{0});
  std::vector<float> shares;
  int64_t sum = 0;
  for (size_t rank = 0; rank < found.size(); ++rank) {
    sum += found[rank];
    const size_t count = rank + 1;
    if (count % static_cast<size_t>(step) == 0 || count == found.size()) {
      shares.push_back(static_cast<float>(static_cast<double>(sum) / static_cast<double>(total)));
    }
  }
  return shares;
}

}  // namespace

TokenRanking RankTokens(std::span<const std::vector<Token>> answers,
                        std::span<const int64_t> other_counts, int vocab, int step) {
  const auto size = static_cast<size_t>(vocab);
  const size_t parts = std::clamp<size_t>(answers.size(), 1, kMaxParts);
  std::vector<int64_t> counts(size);
  std::vector<std::vector<int64_t>> part_counts(parts, std::vector<int64_t>(size));
  for (size_t i = 0; i < answers.size(); ++i) {
    for (const Token token : answers[i]) {
      ++counts[static_cast<size_t>(token)];
      ++part_counts[i % parts][static_cast<size_t>(token)];
    }
  }
  TokenRanking ranking{.tokens = Ranked(counts, other_counts), .step = step};
  std::vector<int64_t> found(size);
  for (const std::vector<int64_t>& part : part_counts) {
    std::vector<int64_t> other_parts = counts;
    for (size_t token = 0; parts > 1 && token < size; ++token) other_parts[token] -= part[token];
    LookUp(Ranked(other_parts, other_counts), part, found);
  }
  ranking.coverage = Shares(found, step);
  return ranking;
}

}  // namespace foretoken
