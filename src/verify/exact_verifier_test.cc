#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "verify/verifier.h"

namespace foretoken {
namespace {

class ExactVerifier : public ::testing::Test {
 protected:
  static std::unique_ptr<Backend> OneThread() { return *NewCpuBackend({.threads = 1}); }

  Acceptance Verify(const CandidateTree& tree, const std::vector<std::vector<float>>& logits,
                    const std::vector<Token>& history, SamplingParams params) {
    const auto rows = static_cast<int64_t>(logits.size());
    const auto cols = static_cast<int64_t>(logits[0].size());
    std::vector<float> packed;
    for (const auto& row : logits) packed.insert(packed.end(), row.begin(), row.end());
    const Buffer buffer = backend_->Allocate(DType::kF32, rows, cols);
    backend_->Upload(packed.data(), buffer.tensor);
    Sampler sampler(std::move(params));
    const Scoring scoring{tree, buffer.tensor, history, sampler};
    return verifier_->Verify(std::span(&scoring, 1))[0];
  }

  std::unique_ptr<Backend> backend_ = OneThread();
  std::unique_ptr<Verifier> verifier_ = NewExactVerifier(*backend_);
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

// Token 0 must not accept itself as padding would.
TEST_F(ExactVerifier, TokenZeroIsAnOrdinaryToken) {
  CandidateTree tree(5);
  tree.Add(0, 1, -1);
  EXPECT_EQ(Verify(tree, {OneHot(0), OneHot(0)}, {5}, {}).path.size(), 1u);
}

// The penalties of a node see the path that leads to it.
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

// The noise of a node is that of its position, so the tree changes nothing.
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

// methods.md 11.2: p = (.5, .3, .2), children {1, 2}.
TEST_F(ExactVerifier, PointMassRule) {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  CandidateTree tree(0);
  tree.Add(0, 1, -1);
  tree.Add(0, 2, -1);
  std::array<double, 3> seen{};  // stopped, went to 1, went to 2
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const Acceptance a = Verify(tree, {logits, logits, logits}, {0},
                                {.temperature = 1, .seed = static_cast<uint64_t>(i)});
    if (a.path.size() == 1) {
      ASSERT_EQ(a.next, 0);
    }
    ++seen[a.path.size() == 1 ? 0 : static_cast<size_t>(a.path[1])];
  }
  const double p[] = {0.5, 0.3, 0.2};
  double chi2 = 0;
  for (size_t i = 0; i < 3; ++i) chi2 += std::pow(seen[i] - kDraws * p[i], 2) / (kDraws * p[i]);
  EXPECT_LT(chi2, 9.21);  // 1 % at 2 degrees of freedom
}

// methods.md 11.12, item 2: the law of two tokens through a tree is the target's, enumerated.
TEST_F(ExactVerifier, LawOfTwoTokens) {
  constexpr int kVocab = 8, kDraws = 60000;
  std::vector<std::vector<float>> p(kVocab + 1);  // after the root; after each first token
  std::vector<std::vector<float>> logits;
  for (int row = 0; row <= kVocab; ++row) {
    double sum = 0;
    std::vector<float> x;
    for (int t = 0; t < kVocab; ++t) x.push_back(std::sin(1.0f + 3.0f * row + 1.7f * t));
    for (float v : x) sum += std::exp(v);
    for (float v : x) p[row].push_back(static_cast<float>(std::exp(v) / sum));
    logits.push_back(x);
  }
  CandidateTree tree(0);  // some first tokens are drafted, some are not
  for (Token t : {1, 4, 6}) tree.Add(0, t, -1);
  const std::vector<std::vector<float>> rows{logits[0], logits[2], logits[5], logits[7]};
  std::vector<double> seen(kVocab * kVocab);
  for (int i = 0; i < kDraws; ++i) {
    const SamplingParams params{.temperature = 1, .seed = static_cast<uint64_t>(i)};
    const Acceptance a = Verify(tree, rows, {0}, params);
    const Token first = a.path.size() > 1 ? tree.token(a.path[1]) : a.next;
    const Token second =
        a.path.size() > 1
            ? a.next
            : Verify(CandidateTree(first), {logits[first + 1]}, {0, first}, params).next;
    ++seen[static_cast<size_t>(first * kVocab + second)];
  }
  double chi2 = 0;
  for (int i = 0; i < kVocab * kVocab; ++i) {
    const double expected = kDraws * p[0][i / kVocab] * p[1 + i / kVocab][i % kVocab];
    chi2 += std::pow(seen[static_cast<size_t>(i)] - expected, 2) / expected;
  }
  EXPECT_LT(chi2, 92.01);  // 1 % at 63 degrees of freedom
}

}  // namespace
}  // namespace foretoken
