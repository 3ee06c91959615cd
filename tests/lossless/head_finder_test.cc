#include "insight/head_finder.h"

#include <gtest/gtest.h>

#include "rig.h"

namespace foretoken {
namespace {

TEST(CopySource, TheLongestCommonSuffixWinsTheLowestOfEquals) {
  const std::vector<Token> text{3, 50, 2, 3, 60, 1, 2, 3, 70, 1, 2, 3};
  EXPECT_EQ(CopySource(text, 9), 7);
  EXPECT_EQ(CopySource(text, 5), 3);
  EXPECT_EQ(CopySource(text, 2), 0);
  const std::vector<Token> none{1, 2, 3, 4};
  EXPECT_EQ(CopySource(none, 3), -1);
  const std::vector<Token> equal{5, 6, 5, 7, 5};
  EXPECT_EQ(CopySource(equal, 4), 0);
}

TEST(FindHeads, CountsEveryHeadWithinTheTrials) {
  Target target(TinyConfig(2));
  std::vector<std::vector<Token>> prompts;
  for (uint64_t i = 0; i < 4; ++i) prompts.push_back(RepetitivePrompt(i, 80, 97));
  for (RowDomain domain : {RowDomain::kInput, RowDomain::kFull, RowDomain::kOccurrences}) {
    int done = 0;
    const auto report =
        FindHeads(*target.model, prompts, {.max_new = 20, .capacity = 200, .domain = domain},
                  [&](int n) { done = n; });
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(done, 4);
    EXPECT_GT(report->trials, 0);
    ASSERT_EQ(report->heads.size(), 16u);
    for (size_t i = 0; i < report->heads.size(); ++i) {
      EXPECT_LE(report->heads[i].hits, report->trials);
      if (i > 0) {
        EXPECT_LE(report->heads[i].hits, report->heads[i - 1].hits);
      }
    }
    if (domain == RowDomain::kOccurrences) {
      EXPECT_GT(report->heads[0].hits, 0);
    }
  }
  EXPECT_FALSE(FindHeads(*target.model, prompts, {.capacity = 40}, [](int) {}).ok());
}

}  // namespace
}  // namespace foretoken
