// Ranks a vocabulary by how often a target writes each token: the computation of foretoken
// rank-tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/token_ranking.h"

namespace foretoken {

// Ranks all tokens below `vocab` by how often they occur in the target's answers, then by
// `other_counts` ([vocab] counts in other text), then by id. Coverage has one share for every
// `step` tokens and is cross-validated: answers are dealt into ten parts, or into one part each if
// there are fewer answers, and each part's tokens are looked up in the ranking of the other parts.
// A single answer is looked up in its own ranking. REQUIRES: tokens are below `vocab`; some answer
// is not empty.
TokenRanking RankTokens(std::span<const std::vector<Token>> answers,
                        std::span<const int64_t> other_counts, int vocab, int step = 256);

}  // namespace foretoken
