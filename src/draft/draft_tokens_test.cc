// Tests of the choice of the tokens that a draft scores.
#include "draft/draft_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace foretoken {
namespace {

using testing::ElementsAre;

// A ranking of `count` tokens. Each step of 1,024 tokens covers half of the text that the steps
// before it leave uncovered.
TokenRanking Halving(int count) {
  TokenRanking ranking{.step = 1024};
  ranking.tokens.resize(static_cast<size_t>(count));
  std::iota(ranking.tokens.begin(), ranking.tokens.end(), 0);
  float left = 1;
  for (int begin = 0; begin < count; begin += ranking.step) {
    left /= 2;
    ranking.coverage.push_back(1 - left);
  }
  return ranking;
}

TEST(CheapestChain, WeighsLevelsAgainstTokensWritten) {
  EXPECT_DOUBLE_EQ(CheapestChain({0.5f}, 0.1), 1.2 / 1.75) << "two levels";
  EXPECT_DOUBLE_EQ(CheapestChain({0.5f, 0.0f}, 0.1), 1.1 / 1.5) << "one level";
  EXPECT_DOUBLE_EQ(CheapestChain({0.5f}, 0.6), 1) << "no level is worth its cost";
}

TEST(CheapestVocabulary, WeighsBytesAgainstCoverage) {
  const TokenRanking ranking = Halving(32 * 1024);
  const LevelCost cheap_rows{.body_bytes = 4'000'000, .row_bytes = 10, .pass_bytes = 100'000'000};
  const LevelCost dear_rows{.body_bytes = 4'000'000, .row_bytes = 1000, .pass_bytes = 100'000'000};
  const int many = CheapestVocabulary(ranking, 50'000, cheap_rows);
  const int few = CheapestVocabulary(ranking, 50'000, dear_rows);
  EXPECT_GT(many, few);
  // Four levels write 2.8 % fewer tokens if 1 - 2^-5 of the text is covered, 5.6 % if 1 - 2^-4 is.
  EXPECT_EQ(few, 5 * 1024);
  LevelCost poor_draft = dear_rows;
  poor_draft.acceptance = {0.4f, 0.4f};
  EXPECT_EQ(CheapestVocabulary(ranking, 50'000, poor_draft), 5 * 1024)
      << "the loss is judged at rates of at least 0.7";
  LevelCost good_draft = dear_rows;
  good_draft.acceptance = {0.95f};
  EXPECT_EQ(CheapestVocabulary(ranking, 50'000, good_draft), 6 * 1024)
      << "four levels this good lose 4.1 % at a coverage of 1 - 2^-5, 2.1 % at 1 - 2^-6";
}

TEST(CheapestVocabulary, ScoresAllTokensIfRowsAreFreeOrDataIsMissing) {
  const TokenRanking ranking = Halving(4 * 1024);
  const LevelCost free_rows{.body_bytes = 4'000'000, .row_bytes = 0, .pass_bytes = 100'000'000};
  EXPECT_EQ(CheapestVocabulary(ranking, 50'000, free_rows), 50'000);
  EXPECT_EQ(CheapestVocabulary({}, 50'000, {.row_bytes = 1000, .pass_bytes = 1}), 50'000);
  EXPECT_EQ(CheapestVocabulary(ranking, 50'000, {.row_bytes = 1000}), 50'000)
      << "a target of unknown size";
}

// A vocabulary that would lose more than kMostLost of the written tokens is never chosen.
TEST(CheapestVocabulary, NeverLosesMoreThanTheLimit) {
  TokenRanking poor{.coverage = {0.5f, 0.6f}, .step = 1024};
  poor.tokens.resize(2048);
  std::iota(poor.tokens.begin(), poor.tokens.end(), 0);
  const LevelCost dear_rows{.body_bytes = 1, .row_bytes = 10'000, .pass_bytes = 100'000'000};
  EXPECT_EQ(CheapestVocabulary(poor, 50'000, dear_rows), 50'000);
}

DraftTokenRule Rule(int vocabulary) {
  DraftTokenRule rule;
  rule.drafter = "eagle3";
  rule.ranks = "ranks.json";
  rule.vocabulary = vocabulary;
  rule.ranking = {.tokens = {6, 1, 4, 0}, .coverage = {0.5f, 0.7f, 0.8f, 0.9f}, .step = 1};
  return rule;
}

// Picks from a head whose `rows` rows score the target's tokens `own`. The target has 8 tokens.
DraftTokens Picked(const DraftTokenRule& rule, int rows, std::span<const Token> own) {
  auto picked = PickTokens(rule, {}, rows, 32, DType::kF32, own, 8, "draft.gguf");
  EXPECT_TRUE(picked.ok()) << picked.error().message;
  return *std::move(picked);
}

TEST(PickTokens, TakesTheTopOfTheRanking) {
  const DraftTokens picked = Picked(Rule(3), 8, {});
  EXPECT_THAT(picked.rows, ElementsAre(6, 1, 4));
  EXPECT_THAT(picked.tokens, ElementsAre(6, 1, 4));
  EXPECT_EQ(picked.type, std::nullopt);
  EXPECT_EQ(picked.vocabulary().size, 8);
}

TEST(PickTokens, FindsTheRowsOfRankedTokensInADraftsOwnHead) {
  // Rows are the target's tokens 0, 4, 5 and 6; token 1 has none.
  const std::vector<Token> own = {0, 4, 5, 6};
  const DraftTokens picked = Picked(Rule(3), 4, own);
  EXPECT_THAT(picked.rows, ElementsAre(3, 1));
  EXPECT_THAT(picked.tokens, ElementsAre(6, 4));
  const std::vector<Token> unranked = {2, 3, 5, 7};
  const auto refused = PickTokens(Rule(3), {}, 4, 32, DType::kF32, unranked, 8, "draft.gguf");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "draft.gguf: drafter eagle3: option vocabulary is 3, expected all: the draft's head has "
      "none of the first 3 tokens of the ranking in ranks.json");
  const DraftTokens by_default = Picked(Rule(0), 4, unranked);
  EXPECT_FALSE(by_default.picks()) << "no number was requested";
  EXPECT_THAT(by_default.tokens, ElementsAre(2, 3, 5, 7));
  const DraftTokens all = Picked(Rule(4), 4, own);
  EXPECT_FALSE(all.picks());
  EXPECT_THAT(all.tokens, ElementsAre(0, 4, 5, 6));
}

TEST(PickTokens, KeepsEveryRowWithoutARanking) {
  DraftTokenRule rule = Rule(0);
  rule.all = true;
  EXPECT_FALSE(Picked(rule, 8, {}).picks());
  EXPECT_FALSE(Picked({}, 8, {}).picks());
  rule.head_type = DType::kQ4_0;
  const DraftTokens rounded = Picked(rule, 8, {});
  EXPECT_EQ(rounded.rows.size(), 8u);
  EXPECT_TRUE(rounded.tokens.empty());
  EXPECT_EQ(rounded.type, DType::kQ4_0);
}

}  // namespace
}  // namespace foretoken
