// Tests of log-probabilities at the limits of softmax.
#include "verify/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "verify/verifier_testing.h"

namespace foretoken {
namespace {

constexpr float kRuledOut = -INFINITY;

void ExpectFourth(const TokenLogprobs& logprobs) {
  const auto share = static_cast<float>(-std::log(4.0));
  EXPECT_EQ(logprobs.chosen, share);
  ASSERT_EQ(logprobs.top.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(logprobs.top[static_cast<size_t>(i)].token, i);
    EXPECT_EQ(logprobs.top[static_cast<size_t>(i)].log_share, share);
  }
}

TEST(LogprobLimits, WhereAllIsRuledOutSharesAreEqual) {
  const std::vector<float> row(4, kRuledOut);
  ExpectFourth(LogprobsOf(row, 3, 2));
  EXPECT_EQ(LogprobsOf(row, 0, 9).top.size(), 4u);
  Judge judge("exact");
  for (const float temperature : {0.0f, 1.0f}) {
    const Acceptance a =
        judge.Verify(CandidateTree(0), {row}, {0}, {.temperature = temperature}, nullptr, 2);
    ASSERT_EQ(a.logprobs.size(), 1u);
    ExpectFourth(a.logprobs[0]);
  }
}

TEST(LogprobLimits, ATokenThatOnlyABiasCouldChooseHasNoShare) {
  Judge judge("exact");
  const std::vector<float> row{0, kRuledOut, 0, 1};
  const SamplingParams sampling{.logit_bias = {{1, INFINITY}}};
  const Acceptance a = judge.Verify(CandidateTree(0), {row}, {0}, sampling, nullptr, 4);
  EXPECT_EQ(a.next, 1);
  ASSERT_EQ(a.logprobs.size(), 1u);
  EXPECT_EQ(a.logprobs[0].chosen, kRuledOut);
  EXPECT_EQ(a.logprobs[0].top.size(), 3u);
}

}  // namespace
}  // namespace foretoken
