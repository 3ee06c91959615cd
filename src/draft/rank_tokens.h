// Ranking a vocabulary by what a target writes: what foretoken rank-tokens computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/token_ranking.h"

namespace foretoken {

// All tokens below `vocab`: those that the target's answers hold by how often they do, those of
// equal counts and those that answers never hold by `behind` ([vocab] counts in other text), then
// by id. The shares of coverage, one for every `step` tokens, are held out: answers are dealt into
// ten parts (as many as there are answers where those are fewer), and each part's tokens are looked
// up in the ranking of the other parts. One answer is its own measure. REQUIRES: tokens are below
// `vocab`; some answer is not empty.
TokenRanking RankTokens(std::span<const std::vector<Token>> answers,
                        std::span<const int64_t> behind, int vocab, int step = 256);

}  // namespace foretoken
