// Heads of a reduced vocabulary: their logits, their tokens, and the drafters that use them.
#include "draft/draft_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "base/json.h"
#include "draft/conversation_testing.h"
#include "draft/eagle/eagle_testing.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DraftHeadTest : public TrainedDrafterTest {
 protected:
  // The vocabulary is large enough that a few rows take fewer bytes, padding of panels included.
  DraftHeadTest() : TrainedDrafterTest("hass", TestConfig({.vocab = 97})) {}

  // The product of fixed test rows with `weight`: [rows, weight.rows()].
  std::vector<float> Product(const Weight& weight) {
    constexpr int kRows = 3;
    const Buffer x = *backend_->Allocate(DType::kF32, kRows, config_.hidden);
    std::vector<float> values(static_cast<size_t>(kRows * config_.hidden));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 0.01f * static_cast<float>(i % 37) - 0.2f;
    backend_->Upload(values.data(), x.tensor);
    const Buffer out = *backend_->Allocate(DType::kF32, kRows, weight.rows());
    backend_->Linear(x.tensor, std::array{LinearOut{.weight = &weight, .out = out.tensor}});
    std::vector<float> product(static_cast<size_t>(kRows * weight.rows()));
    backend_->Download(out.tensor, product.data());
    return product;
  }

  void WriteHass(const TokenRanking& ranking = {}) {
    DraftInfo info = InfoFor(config_, tokenizer_->data(), "hass", 1);
    info.ranking = ranking;
    info.acceptance = {0.5f, 0.25f};
    RandomEagle(Target(), 3).Write(info, path_);
  }

  static TokenRanking Ranking() {
    return {.tokens = {7, 3, 40, 12, 0, 5}, .coverage = {0.5f, 0.8f, 0.9f}, .step = 2};
  }
};

// Checked for five weight types, with and without blocks.
TEST_F(DraftHeadTest, GatheredRowsGiveTheLogitsOfThoseRowsBitForBit) {
  const std::vector<Token> picked = {7, 3, 40, 12, 0, 5};
  config_.ffn = 64;  // a multiple of the block size
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    const auto model = *NewRandomModel(config_, type, 5, *backend_);
    const auto rows = model->PickHeadRows(picked, {});
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_EQ((*rows)->type(), type);
    const std::vector<float> full = Product(model->OutputHead()), gathered = Product(**rows);
    for (size_t row = 0; row < 3; ++row) {
      for (size_t i = 0; i < picked.size(); ++i) {
        ASSERT_EQ(gathered[row * picked.size() + i],
                  full[row * static_cast<size_t>(config_.vocab) + static_cast<size_t>(picked[i])]);
      }
    }
  }
}

TEST_F(DraftHeadTest, RequantisedRowsGiveNearlyTheSameLogits) {
  const std::vector<Token> picked = {7, 3};
  const auto rows = *model_->PickHeadRows(picked, DType::kQ4_0);
  EXPECT_EQ(rows->type(), DType::kQ4_0);
  const std::vector<float> full = Product(model_->OutputHead()), gathered = Product(*rows);
  for (size_t i = 0; i < picked.size(); ++i) {
    EXPECT_NEAR(gathered[i], full[static_cast<size_t>(picked[i])], 0.5);
    EXPECT_NE(gathered[i], full[static_cast<size_t>(picked[i])]);
  }
}

// A model loaded with some rows of its head gives the logits of those tokens only.
TEST_F(DraftHeadTest, AModelLoadedWithSomeHeadRowsScoresOnlyThoseTokens) {
  const auto small =
      *NewRandomModel(config_, DType::kF32, 5, *backend_, {.head_tokens = {9, 2}, .head_type = {}});
  EXPECT_EQ(small->OutputHead().rows(), 2);
  EXPECT_LT(small->weight_bytes(), model_->weight_bytes());
  const auto logits = [&](Model& model) {
    const auto cache = model.NewCache(8, DType::kF32);
    RowBatch batch;
    AddRow(batch, 4, 0, kNoNode);
    batch.begin.push_back(1);
    batch.logit_rows = {0};
    KvCache* caches[] = {cache.get()};
    const Tensor found = *model.Forward(batch, caches, {}, {});
    std::vector<float> values(static_cast<size_t>(found.cols));
    backend_->Download(found, values.data());
    return values;
  };
  const std::vector<float> full = logits(*model_);
  EXPECT_THAT(logits(*small), ElementsAre(full[9], full[2]));
  const auto wrong = NewRandomModel(config_, DType::kF32, 5, *backend_, {.head_tokens = {97}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("token 97 is to be scored, expected 0 to 96"));
}

// A prior counts only the scored rows, and its identity names their number.
TEST_F(DraftHeadTest, ThePriorCountsOnlyTheScoredRows) {
  WriteHass(Ranking());
  const auto prior = [&](const Json& options) {
    const auto drafter = Open(options);
    EXPECT_TRUE(drafter.ok()) << Complaint(drafter);
    return (*drafter)->Prior();
  };
  const DraftPrior all = prior({{"vocabulary", "all"}});
  const DraftPrior four = prior({{"vocabulary", 4}, {"head", "source"}});
  EXPECT_GT(all.level_bytes, four.level_bytes);
  EXPECT_GT(four.level_bytes, 0u);
  EXPECT_THAT(four.acceptance, ElementsAre(0.5f, 0.25f));
  EXPECT_THAT(four.identity, testing::StartsWith("hass-"));
  EXPECT_THAT(four.identity, testing::EndsWith("-4"));
  EXPECT_NE(four.identity, all.identity);
}

TEST_F(DraftHeadTest, RankingsComeFromTheOptionOrFromBesideTheTarget) {
  WriteHass();
  EXPECT_THAT(Complaint(Open({{"vocabulary", 4}})),
              HasSubstr("drafter hass: option vocabulary is 4, but there is no ranking"));
  const std::string ranks = folder_ / "ranks.json";
  std::ofstream(ranks) << RankingText({Ranking(), config_.vocab, 0});
  EXPECT_EQ(Complaint(Open({{"vocabulary", 4}, {"ranks", ranks}})), "built");
  EXPECT_THAT(Complaint(Open({{"vocabulary", 7}, {"ranks", ranks}})),
              HasSubstr("expected all, or at most the 6 tokens of the ranking in " + ranks));
  EXPECT_THAT(Complaint(Open({{"vocabulary", "many"}})),
              HasSubstr("option vocabulary: found \"many\""));
  EXPECT_THAT(Complaint(Open({{"head", "q5_0"}})), HasSubstr("option head: found \"q5_0\""));
  std::ofstream(folder_ / "target.gguf.ranks.json") << RankingText({Ranking(), config_.vocab, 0});
  const Json options = {{"draft", path_}, {"vocabulary", 4}};
  const auto beside =
      NewDrafter("hass", {*model_, 64, options, folder_ / "target.gguf", tokenizer_.get()});
  EXPECT_EQ(Complaint(beside), "built");
  std::ofstream(ranks) << RankingText({Ranking(), config_.vocab, 12345});
  EXPECT_THAT(Complaint(Open({{"ranks", ranks}})),
              HasSubstr("ranks.json: field 'vocabulary' is 12345, expected the target's"));
  std::ofstream(ranks) << RankingText({{{97}, {1}, 1}, 128, 0});
  EXPECT_THAT(Complaint(Open({{"ranks", ranks}})),
              HasSubstr("field 'tokens' holds token 97, expected 0 to 96"));
}

}  // namespace
}  // namespace foretoken
