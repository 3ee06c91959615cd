// Tests of the choice of tokens over which a draft's losses are computed.
#include "scored_head.h"

#include <gtest/gtest.h>

#include "data_ranking.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

Corpus SmallCorpus() {
  Corpus corpus;
  corpus.ids = {5, 5, 5, 1, 2, 2, 7, 7, 7, 7};
  corpus.learn = {0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
  corpus.documents = {{.first = 0, .length = 6}, {.first = 6, .length = 4, .heldout = true}};
  return corpus;
}

// Tokens 2 and 1 occur with a loss, 5 only without a loss, and 7 only in a held-out document. Token
// 0 has the lowest id of the tokens that do not count at all.
TEST(ScoredHeadTest, TokensWithALossComeFirst) {
  const TokenRanking ranking = RankData(SmallCorpus(), 8);
  EXPECT_EQ(CommonTokens(ranking, 1), (std::vector<int64_t>{2}));
  EXPECT_EQ(CommonTokens(ranking, 2), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(CommonTokens(ranking, 3), (std::vector<int64_t>{1, 2, 5}));
  EXPECT_EQ(CommonTokens(ranking, 4), (std::vector<int64_t>{0, 1, 2, 5}));
  EXPECT_EQ(CommonTokens(ranking, 9).size(), 8u);
}

// Tokens converts indices of scored rows to token ids.
TEST(ScoredHeadTest, ConvertsRowIndicesToTokens) {
  const Tensor head = torch::randn({8, 3});
  const ScoredHead subset(head, {1, 2, 5}), full(head, {});
  EXPECT_TRUE(torch::equal(subset.rows()[2], head[5]));
  EXPECT_TRUE(torch::equal(full.rows(), head));
  EXPECT_EQ(subset.Share(), 3.0 / 8);
  const Tensor indices = torch::tensor({{2, 0}, {1, 1}}, torch::kInt64);
  EXPECT_TRUE(torch::equal(subset.Tokens(indices), torch::tensor({{5, 1}, {2, 2}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(full.Tokens(indices), indices));
}

// A row gets 0 if the token that the draft predicts there, the target of the next row, is not
// scored.
TEST(ScoredHeadTest, RowsThatPredictUnscoredTokensGetZero) {
  const Tensor head = torch::randn({8, 3});
  Batch batch;
  batch.targets = torch::tensor({5, 3, 1, 0}, torch::kInt32);
  const Tensor scores = ScoredHead(head, {1, 2, 5}).Scores(batch);
  EXPECT_TRUE(torch::equal(scores.narrow(0, 0, 3), torch::tensor({0.0f, 1.0f, 0.0f})));
  EXPECT_FALSE(ScoredHead(head, {}).Scores(batch).defined());
}

}  // namespace
}  // namespace foretoken::train
