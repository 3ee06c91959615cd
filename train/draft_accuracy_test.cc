// Tests of a draft's evaluation, with values computed by hand.
#include "draft_accuracy.h"

#include <gtest/gtest.h>

#include <map>

namespace foretoken::train {
namespace {

using torch::Tensor;

// Top-5 lists: row r has best[r] first, then the next four ids.
Tensor Ranked(const std::vector<int64_t>& best) {
  const Tensor first = torch::tensor(best, torch::kInt64).unsqueeze(1);
  return torch::cat({first, first + 1, first + 2, first + 3, first + 4}, 1);
}

// Tokens 10, 20, ..., 60 of one document, then 80, 90 of another; all have a loss.
Batch TwoDocuments() {
  Batch batch;
  batch.batch = 1;
  batch.length = 8;
  batch.ids = torch::tensor({10, 20, 30, 40, 50, 60, 80, 90}, torch::kInt32);
  batch.targets = torch::tensor({20, 30, 40, 50, 60, 70, 90, 100}, torch::kInt32);
  batch.weights = torch::ones({8});
  batch.first_key = torch::tensor({0, 0, 0, 0, 0, 0, 6, 6}, torch::kInt32).view({1, -1});
  batch.inner = torch::tensor({1.f, 1.f, 1.f, 1.f, 1.f, 0.f, 1.f, 0.f});
  return batch;
}

TEST(DraftAccuracyTest, MeasuresMatchHandCounts) {
  const Batch batch = TwoDocuments();
  // The target agrees with the text except after token 40 (row 3).
  const Tensor said = Ranked({20, 30, 40, 51, 60, 70, 90, 100});
  // Step 1's row r guesses the token after targets[r]. It is correct at rows 0, 1, 4 and 6; at row
  // 2 it has the text's 50 where the target has 51; at row 3 it is wrong, but 60 is in its top 5.
  const Tensor step1 = Ranked({30, 40, 50, 56, 70, 0, 100, 0});
  // Step 2's row r continues the draft of row r - 1.
  const Tensor step2 = Ranked({0, 40, 51, 60, 7, 0, 0, 0});
  DraftAccuracy accuracy(2);
  accuracy.Add(batch, said, {step1, step2});
  Metrics metrics;
  accuracy.AppendTo(metrics);
  const std::map<std::string, double> value(metrics.begin(), metrics.end());
  // Prefixes whose next token is the target's and that have a token to guess: rows 0, 1, 2, 4, 6.
  // Of the four correct drafts there, those of rows 4 and 6 have no second token to guess.
  EXPECT_DOUBLE_EQ(value.at("teacher_forced_alpha_1"), 4.0 / 5);
  EXPECT_DOUBLE_EQ(value.at("teacher_forced_alpha_2"), 2.0 / 2);
  EXPECT_DOUBLE_EQ(value.at("teacher_forced_tau"), 1 + 0.8 + 0.8);
  // Rows 0 .. 4 and 6 have a token of their document after the next one.
  EXPECT_DOUBLE_EQ(value.at("top1_1"), 5.0 / 6);
  EXPECT_DOUBLE_EQ(value.at("top5_1"), 6.0 / 6);
  // Rows 1 .. 4: guesses 40 and 60 are the text's tokens; 51 (for 50) and 7 are wrong.
  EXPECT_DOUBLE_EQ(value.at("top1_2"), 2.0 / 4);
  EXPECT_DOUBLE_EQ(value.at("top5_2"), 2.0 / 4);
}

TEST(DraftAccuracyTest, LikeliestReturnsTheTopTokensInOrder) {
  const Tensor head = torch::eye(7);
  const Tensor rows = torch::tensor({{0.f, 5.f, 1.f, 4.f, 2.f, 3.f, -1.f}});
  EXPECT_TRUE(
      Likeliest(rows, head).eq(torch::tensor({{1, 3, 5, 4, 2}}, torch::kInt64)).all().item<bool>());
}

}  // namespace
}  // namespace foretoken::train
