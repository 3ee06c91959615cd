// Tests of the ranking of tokens and of its coverage.
#include "draft/rank_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;

TEST(RankTokens, OrdersByAnswersThenOtherTextThenId) {
  const std::vector<std::vector<Token>> answers = {{5, 5, 5, 2, 2, 3, 3}};
  const std::vector<int64_t> other_counts = {0, 9, 1, 4, 0, 0, 9, 20};
  const TokenRanking ranking = RankTokens(answers, other_counts, 8, /*step=*/1);
  // 3 and 2 occur equally often in answers, and other text has more of 3; 1 and 6 tie in both.
  EXPECT_THAT(ranking.tokens, ElementsAre(5, 3, 2, 7, 1, 6, 0, 4));
  EXPECT_THAT(ranking.coverage, ElementsAre(3 / 7.0f, 5 / 7.0f, 1, 1, 1, 1, 1, 1))
      << "a single answer is looked up in its own ranking";
  EXPECT_TRUE(CheckRanking(ranking, 8, "ranking").ok());
}

TEST(RankTokens, CoverageIsCrossValidated) {
  const std::vector<std::vector<Token>> answers = {{0, 0, 1}, {2, 2, 2, 0}};
  const std::vector<int64_t> other_counts(4);
  const TokenRanking ranking = RankTokens(answers, other_counts, 4, /*step=*/1);
  EXPECT_THAT(ranking.tokens, ElementsAre(0, 2, 1, 3));
  // Counts by rank. First answer in the second's ranking (2 0 1 3): 0 2 1 0. Second answer in the
  // first's ranking (0 1 2 3): 1 0 3 0.
  EXPECT_THAT(ranking.coverage, ElementsAre(1 / 7.0f, 3 / 7.0f, 1, 1));
}

TEST(RankTokens, CoverageHasOneShareForEveryStep) {
  const std::vector<std::vector<Token>> answers = {{0, 0, 1, 2, 3, 4}};
  const TokenRanking ranking = RankTokens(answers, std::vector<int64_t>(5), 5, /*step=*/2);
  EXPECT_THAT(ranking.coverage, ElementsAre(0.5f, 5 / 6.0f, 1));
}

}  // namespace
}  // namespace foretoken
