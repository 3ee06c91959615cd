// Tests of the choice of tokens over which a draft's losses are computed.
#include "scored_head.h"

#include <gtest/gtest.h>

#include "data_ranking.h"
#include "method.h"
#include "run_testing.h"
#include "trainer.h"

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

// Rows whose targets are scored remain, with the places of these targets among the scored tokens.
TEST(ScoredHeadTest, KeepsRowsWithScoredTargets) {
  const Tensor head = torch::randn({8, 3});
  const HeadRows at{torch::tensor({3, 4, 6, 7}, torch::kInt64),
                    torch::tensor({5, 3, 1, 2}, torch::kInt32)};
  const HeadRows kept = ScoredHead(head, {1, 2, 5}).Scored(at);
  EXPECT_TRUE(torch::equal(kept.rows, torch::tensor({3, 6, 7}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(kept.targets, torch::tensor({2, 0, 1}, torch::kInt32)));
  EXPECT_TRUE(torch::equal(ScoredHead(head, {}).Scored(at).targets, at.targets));
}

// For every method with the setting: as many tokens as the vocabulary has train like 0, which means
// all, and fewer give different losses, but not where the draft trains an LM head of its own.
TEST_F(RunTest, ScoredTokensLimitLosses) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  int methods = 0;
  for (const Method* method : AllMethods()) {
    const DraftDefaults& defaults = method->defaults;
    if (defaults.scored == nullptr) continue;
    SCOPED_TRACE(method->name);
    ++methods;
    const bool may_train_head = std::ranges::any_of(method->settings, [](const Setting& setting) {
      const std::string_view name = setting.name;
      return name == "train_head" || name == "shared_output";
    });
    const auto losses = [&](const char* scored, bool shares_head) {
      const std::string out =
          directory_ + "/" + method->name + scored + (shares_head ? "_shared" : "_own");
      TrainOptions run = TinyDraftRun(directory_, out, method->name);
      run.recipe.steps = 4;
      run.recipe.eval_every = 2;
      run.recipe.settings[defaults.scored] = scored;
      for (const Setting& setting : method->settings) {
        const std::string name = setting.name;
        if (name == "layer") run.recipe.settings[name] = "1";  // the target has two layers
        if (name == "train_head") run.recipe.settings[name] = shares_head ? "0" : "1";
        if (name == "shared_output") run.recipe.settings[name] = shares_head ? "1" : "0";
      }
      const Status trained = Train(run);
      return trained.ok() ? Losses(run.out) : std::vector<std::string>{trained.error().message};
    };
    const auto all = losses("0", true), some = losses("64", true);
    EXPECT_EQ(all, losses("320", true));
    ASSERT_EQ(some.size(), 4u) << some[0];
    EXPECT_NE(all, some);
    if (may_train_head) {
      EXPECT_EQ(losses("0", false), losses("64", false));
    }
  }
  EXPECT_EQ(methods, 6);
}

}  // namespace
}  // namespace foretoken::train
