// Tests of filters and log-probabilities, with every verifier.
#include "verify/logit_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "verify/filter_testing.h"
#include "verify/verifier_testing.h"

namespace foretoken {
namespace {

constexpr int kTokens = 8;
constexpr float kNever = -std::numeric_limits<float>::infinity();
using LogitRows = std::vector<std::vector<float>>;

// A tree in which every token follows every node down to depth 2.
CandidateTree FullTree(Token root) {
  CandidateTree tree(root);
  for (Token t = 0; t < kTokens; ++t) tree.Add(0, t, -1);
  for (Node n = 1; n <= kTokens; ++n) {
    for (Token t = 0; t < kTokens; ++t) tree.Add(n, t, -1);
  }
  return tree;
}

// Logits that depend only on the tokens of the path, like a model's logits.
std::vector<float> RowAfter(uint64_t seed, std::span<const Token> path) {
  for (const Token t : path) seed = Mix(seed * 31 + static_cast<uint64_t>(t));
  std::vector<float> row;
  for (Token t = 0; t < kTokens; ++t) row.push_back(2 * Gumbel(seed, 0, t));
  return row;
}

LogitRows RowsOf(const CandidateTree& tree, uint64_t seed, const std::vector<Token>& history) {
  LogitRows rows;
  for (Node n = 0; n < tree.size(); ++n) {
    std::vector<Token> path;
    for (Node at = n; at != 0; at = tree.parent(at)) path.insert(path.begin(), tree.token(at));
    path.insert(path.begin(), history.begin(), history.end());
    rows.push_back(RowAfter(seed, path));
  }
  return rows;
}

std::vector<Token> Gained(const CandidateTree& tree, const Acceptance& a) {
  std::vector<Token> gained = tree.TokensOf(std::span(a.path).subspan(1));
  gained.push_back(a.next);
  return gained;
}

class EveryFilteredVerifier : public ::testing::TestWithParam<const VerifierEntry*> {
 protected:
  // The tokens written from `tree` after history {0}, checked against and accepted by `filter`.
  std::vector<Token> Write(const CandidateTree& tree, uint64_t seed, const SamplingParams& sampling,
                           LogitFilter& filter) {
    const Acceptance a = judge_.Verify(tree, RowsOf(tree, seed, {0}), {0}, sampling, &filter);
    const std::vector<Token> gained = Gained(tree, a);
    for (const Token t : gained) {
      EXPECT_TRUE(filter.Allows(t)) << "token " << t << ", seed " << seed;
      if (!filter.Allows(t)) return {};
      filter.Accept(t);
    }
    return gained;
  }

  Judge judge_{GetParam()->name};
};

TEST_P(EveryFilteredVerifier, WritesOnlyWhatIsAllowedAtEveryNode) {
  size_t longest = 0, different = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    CandidateTree tree = FullTree(0);
    const auto even = std::make_shared<const std::vector<float>>(kTokens, 1.0f / kTokens);
    tree.SetDraws(0, {even, {3, 1, 6, 0}});
    for (const float temperature : {0.0f, 1.0f}) {
      const SamplingParams sampling{.temperature = temperature, .seed = seed};
      RuleFilter filter = HalfFilter();
      longest = std::max(longest, Write(tree, seed, sampling, filter).size());
      const Acceptance free = judge_.Verify(tree, RowsOf(tree, seed, {0}), {0}, sampling);
      different += Gained(tree, free) != filter.text();
    }
  }
  EXPECT_EQ(longest, 3u) << "a node at depth 2 and the bonus";
  EXPECT_GT(different, 100u) << "a filter that forbids nothing proves nothing";
}

// For one seed, the tree changes neither the text nor a bit of its log-probabilities.
TEST_P(EveryFilteredVerifier, TheTreeChangesNeitherTextNorLogprobs) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const SamplingParams sampling{
        .temperature = GetParam()->guarantee == Guarantee::kSameText ? 0.8f : 0.0f, .seed = seed};
    const CandidateTree tree = FullTree(0);
    RuleFilter filter = HalfFilter();
    const Acceptance a =
        judge_.Verify(tree, RowsOf(tree, seed, {0}), {0}, sampling, &filter, /*logprobs=*/3);
    const std::vector<Token> gained = Gained(tree, a);
    ASSERT_EQ(a.logprobs.size(), gained.size());
    std::vector<Token> text{0};
    for (size_t i = 0; i < gained.size(); ++i) {
      const CandidateTree root(text.back());
      const LogitRows row{RowAfter(seed, text)};
      const Acceptance alone = judge_.Verify(root, row, text, sampling, &filter, 3);
      ASSERT_EQ(alone.next, gained[i]);
      ASSERT_EQ(alone.logprobs[0].chosen, a.logprobs[i].chosen);
      ASSERT_EQ(alone.logprobs[0].top.size(), a.logprobs[i].top.size());
      for (size_t r = 0; r < alone.logprobs[0].top.size(); ++r) {
        ASSERT_EQ(alone.logprobs[0].top[r].token, a.logprobs[i].top[r].token);
        ASSERT_EQ(alone.logprobs[0].top[r].log_share, a.logprobs[i].top[r].log_share);
      }
      filter.Accept(gained[i]);
      text.push_back(gained[i]);
    }
  }
}

// Forbidden tokens stay forbidden under any bias, even if the model rules out all allowed tokens.
TEST_P(EveryFilteredVerifier, NothingBringsBackWhatIsForbidden) {
  const auto allows = [](const std::vector<Token>&, Token t) { return t == 2 || t == 5; };
  std::vector<float> row(kTokens, 1.0f), ruled_out(kTokens, 1.0f);
  ruled_out[2] = ruled_out[5] = kNever;
  const SamplingParams lifted{.logit_bias = {{3, INFINITY}}};
  const SamplingParams sunk{.logit_bias = {{2, -INFINITY}, {5, -INFINITY}, {1, 5.0f}}};
  for (const float temperature : {0.0f, 1.0f}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      for (SamplingParams sampling : {lifted, sunk}) {
        sampling.temperature = temperature;
        sampling.seed = seed;
        RuleFilter filter(allows);
        for (const auto& logits : {row, ruled_out}) {
          const Token next = judge_.Verify(CandidateTree(0), {logits}, {0}, sampling, &filter).next;
          ASSERT_TRUE(next == 2 || next == 5) << next;
        }
      }
    }
  }
}

// If the filter lets nothing follow, the result is a dead end. A NaN logit is not a dead end.
TEST_P(EveryFilteredVerifier, ADeadEndIsNotALogitWithoutNumber) {
  CandidateTree tree(0);
  tree.Add(0, 4, -1);
  LogitRows rows(2, std::vector<float>(kTokens, 0.0f));
  for (const float temperature : {0.0f, 1.0f}) {
    const SamplingParams sampling{.temperature = temperature, .seed = 1};
    RuleFilter filter(
        [](const std::vector<Token>& text, Token t) { return text.empty() && t == 4; });
    const Acceptance dead = judge_.Verify(tree, rows, {0}, sampling, &filter);
    EXPECT_EQ(dead.path, (std::vector<Node>{0, 1}));
    EXPECT_EQ(dead.next, kNoToken);
    EXPECT_TRUE(dead.is_dead_end);
    LogitRows wrong = rows;
    wrong[1][0] = NAN;
    EXPECT_FALSE(judge_.Verify(tree, wrong, {0}, sampling, &filter).is_dead_end);
  }
}

std::vector<const VerifierEntry*> FilteredEntries() {
  std::vector<const VerifierEntry*> all;
  for (const VerifierEntry& e : AllVerifiers()) all.push_back(&e);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Verifiers, EveryFilteredVerifier, ::testing::ValuesIn(FilteredEntries()),
                         [](const auto& info) { return std::string(info.param->name); });

// Tokens follow the masked, renormalised distribution for any draws from any distribution.
TEST(FilteredLaw, IsThatOfTheMaskedDistribution) {
  const std::vector<double> target{0.3, 0.1, 0.2, 0.05, 0.05, 0.1, 0.15, 0.05};
  const auto allows = [](const std::vector<Token>&, Token t) { return t % 2 == 0; };
  const std::vector<float> q{0.1f, 0.3f, 0.05f, 0.2f, 0.1f, 0.05f, 0.1f, 0.1f};
  constexpr int kRuns = 20000;
  for (const std::string_view name : {"exact", "sequential", "chain", "tree"}) {
    Judge judge(name);
    std::vector<int> count(kTokens);
    for (uint64_t seed = 0; seed < kRuns; ++seed) {
      CandidateTree tree(0);
      if (judge.verifier().NeedsDraws()) {
        const Token drawn = Draw(q, Uniform(seed, 1, 0));
        tree.Add(0, drawn, -1);
        tree.SetDraws(0, {std::make_shared<const std::vector<float>>(q), {drawn}});
      } else {
        for (const Token t : {2, 3, 6}) tree.Add(0, t, -1);
      }
      const LogitRows rows(static_cast<size_t>(tree.size()), LogitsOf(target));
      RuleFilter filter(allows);
      const SamplingParams sampling{.temperature = 1, .seed = seed};
      const Acceptance a = judge.Verify(tree, rows, {0}, sampling, &filter);
      ++count[static_cast<size_t>(Gained(tree, a)[0])];
    }
    for (size_t t = 0; t < target.size(); ++t) {
      const double expected = t % 2 == 0 ? target[t] / 0.7 : 0;
      const double deviation = std::sqrt(kRuns * expected * (1 - expected));
      EXPECT_NEAR(count[t], kRuns * expected, 4.5 * deviation) << name << ", token " << t;
    }
  }
}

TEST(Logprobs, AreTheLogSoftmaxOfRawLogits) {
  const std::vector<double> p{0.5, 0.25, 0.125, 0.125};
  const TokenLogprobs some = LogprobsOf(LogitsOf(p), 2, 3);
  EXPECT_NEAR(some.chosen, std::log(0.125), 1e-6);
  ASSERT_EQ(some.top.size(), 3u);
  for (size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(some.top[r].token, static_cast<Token>(r)) << "the lowest id of equals";
    EXPECT_NEAR(some.top[r].log_share, std::log(p[r]), 1e-6);
  }
  EXPECT_TRUE(LogprobsOf(LogitsOf(p), 2, 0).top.empty());
  const TokenLogprobs forced = LogprobsOf(std::vector<float>{kNever, 3, kNever}, 1, 5);
  EXPECT_EQ(forced.chosen, 0);
  EXPECT_EQ(forced.top.size(), 1u);
  const TokenLogprobs infinite = LogprobsOf(std::vector<float>{INFINITY, 3, INFINITY}, 2, 2);
  EXPECT_NEAR(infinite.chosen, std::log(0.5), 1e-6);
  EXPECT_EQ(infinite.top[1].token, 2);
}

// Log-probabilities are the model's: sampling options do not change them.
TEST(Logprobs, IgnoreBiasTemperatureAndCuts) {
  Judge judge("exact");
  const std::vector<float> row{0, 1, 2, 3, 4, 3, 2, 1};
  const SamplingParams sampling{
      .temperature = 0.5f, .top_k = 2, .presence_penalty = 1, .logit_bias = {{1, 3.0f}}, .seed = 2};
  const Acceptance a = judge.Verify(CandidateTree(0), {row}, {4, 0}, sampling, nullptr, 2);
  ASSERT_EQ(a.logprobs.size(), 1u);
  const TokenLogprobs expected = LogprobsOf(row, a.next, 2);
  EXPECT_EQ(a.logprobs[0].chosen, expected.chosen);
  EXPECT_EQ(a.logprobs[0].top[0].token, 4);
}

}  // namespace
}  // namespace foretoken
