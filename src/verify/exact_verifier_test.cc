// Tests of the exact verifier.
#include <gtest/gtest.h>

#include "verify/verifier_testing.h"

namespace foretoken {
namespace {

class ExactVerifier : public ::testing::Test {
 protected:
  Acceptance Verify(const CandidateTree& tree, const std::vector<std::vector<float>>& rows,
                    const std::vector<Token>& history, const SamplingParams& params) {
    return judge_.Verify(tree, rows, history, params);
  }
  Judge judge_{"exact"};
};

std::vector<float> OneHot(Token token) {
  std::vector<float> row(8, 0.0f);
  row[static_cast<size_t>(token)] = 5;
  return row;
}

TEST_F(ExactVerifier, GreedyWalksTheTrie) {
  CandidateTree tree(0);
  const Node wrong = tree.Add(0, 1, -1), right = tree.Add(0, 2, -1);
  tree.Add(wrong, 3, -1);
  const Node deeper = tree.Add(right, 3, -1);
  const Acceptance a =
      Verify(tree, {OneHot(2), OneHot(3), OneHot(3), OneHot(7), OneHot(4)}, {0}, {});
  EXPECT_EQ(a.path, (std::vector<Node>{0, right, deeper}));
  EXPECT_EQ(a.next, 4);
}

TEST_F(ExactVerifier, ATreeOfTheRootAloneGivesTheBonus) {
  const Acceptance a = Verify(CandidateTree(3), {OneHot(6)}, {3}, {});
  EXPECT_EQ(a.path, (std::vector<Node>{0}));
  EXPECT_EQ(a.next, 6);
}

// Token 0 must not be accepted as if it were padding.
TEST_F(ExactVerifier, TokenZeroIsAnOrdinaryToken) {
  CandidateTree tree(5);
  tree.Add(0, 1, -1);
  EXPECT_EQ(Verify(tree, {OneHot(0), OneHot(0)}, {5}, {}).path.size(), 1u);
}

// The penalties at a node count the tokens of its path.
TEST_F(ExactVerifier, HistoryHoldsThePath) {
  CandidateTree tree(0);
  tree.Add(0, 2, -1);
  std::vector<float> close = OneHot(2);
  close[3] = 4;
  const SamplingParams params{.presence_penalty = 2};
  const Acceptance a = Verify(tree, {close, close}, {0}, params);
  EXPECT_EQ(a.path.size(), 2u);
  EXPECT_EQ(a.next, 3) << "token 2 was written by the path and is penalised";
}

// A node's noise depends on its position only, so the tree changes nothing.
TEST_F(ExactVerifier, SampledChoiceEqualsPlainDecoding) {
  const std::vector<float> flat(8, 0.0f);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const SamplingParams params{.temperature = 1, .seed = seed};
    const Token first = Verify(CandidateTree(1), {flat}, {4, 1}, params).next;
    const Token second = Verify(CandidateTree(first), {flat}, {4, 1, first}, params).next;
    CandidateTree tree(1);
    for (Token t = 0; t < 8; ++t) tree.Add(0, t, -1);
    const Acceptance a = Verify(tree, std::vector(9, flat), {4, 1}, params);
    ASSERT_EQ(a.path, (std::vector<Node>{0, 1 + first}));
    ASSERT_EQ(a.next, second);
  }
}

}  // namespace
}  // namespace foretoken
