// Tests of the guarantees of every verifier in the registry, and of properties of single verifiers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "backend/strict_backend_testing.h"
#include "base/doc_page_testing.h"
#include "base/option_help.h"
#include "base/rng.h"
#include "verify/forced_verifier.h"
#include "verify/typical.h"
#include "verify/verifier_testing.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::vector<float>>;

constexpr int kVocab = 6;

CandidateTree RandomTree(uint64_t seed, int nodes) {
  CandidateTree tree(0);
  for (int i = 1; i < nodes; ++i) {
    const uint64_t at = Mix(seed * 100 + static_cast<uint64_t>(i));
    tree.Add(static_cast<Node>(at % static_cast<uint64_t>(tree.size())),
             static_cast<Token>((at >> 32) % kVocab), -1);
  }
  return tree;
}

Rows RandomRows(uint64_t seed, int rows) {
  Rows all(static_cast<size_t>(rows));
  for (size_t r = 0; r < all.size(); ++r) {
    for (Token t = 0; t < kVocab; ++t) all[r].push_back(Gumbel(seed, static_cast<Pos>(r), t));
  }
  return all;
}

// A chain of `tokens` below root 0.
CandidateTree Chain(std::initializer_list<Token> tokens) {
  CandidateTree tree(0);
  Node at = 0;
  for (Token t : tokens) at = tree.Add(at, t, -1);
  return tree;
}

class EveryVerifier : public ::testing::TestWithParam<const VerifierEntry*> {
 protected:
  Judge judge_{GetParam()->name};
};

// A greedy verifier follows the target's argmax through the tree (V-2), with and without penalties.
TEST_P(EveryVerifier, GreedilyIsTheTrieWalk) {
  Judge exact("exact");
  size_t longest = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CandidateTree tree = RandomTree(seed, 12);
    tree.SetDraws(0, {std::make_shared<const std::vector<float>>(kVocab, 1.0f / kVocab), {1, 4}});
    const Rows rows = RandomRows(seed, tree.size());
    SamplingParams params{.seed = seed};
    if (seed % 2 == 1) params.repetition_penalty = 1.5f;
    const Acceptance expected = exact.Verify(tree, rows, {3, 0}, params);
    const Acceptance actual = judge_.Verify(tree, rows, {3, 0}, params);
    ASSERT_EQ(actual.path, expected.path) << seed;
    ASSERT_EQ(actual.next, expected.next) << seed;
    longest = std::max(longest, actual.path.size());
  }
  EXPECT_GE(longest, 4u);
}

// The result is a path from the root and a bonus that is not a child of its end.
TEST_P(EveryVerifier, AcceptsAPathAndOneTokenMore) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CandidateTree tree = RandomTree(seed, 14);
    tree.SetDraws(0, {std::make_shared<const std::vector<float>>(kVocab, 1.0f / kVocab), {1, 4}});
    const Rows rows = RandomRows(seed, tree.size());
    const SamplingParams params{.temperature = 1.0f, .seed = seed};
    const Acceptance a = judge_.Verify(tree, rows, {0}, params);
    ASSERT_FALSE(a.path.empty());
    ASSERT_EQ(a.path[0], 0);
    for (size_t i = 1; i < a.path.size(); ++i) ASSERT_EQ(tree.parent(a.path[i]), a.path[i - 1]);
    ASSERT_TRUE(0 <= a.next && a.next < kVocab);
    if (GetParam()->lossless()) {
      EXPECT_EQ(tree.Child(a.path.back(), a.next), kNoNode);
    }
    const Acceptance again = judge_.Verify(tree, rows, {0}, params);
    ASSERT_EQ(again.path, a.path) << "not a function of the seed";
    ASSERT_EQ(again.next, a.next);
  }
}

// Tokens that the processors rule out are never written, drafted or not.
TEST_P(EveryVerifier, ProcessesTheLogitsFirst) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CandidateTree tree(0);
    for (Token t = 0; t < kVocab; ++t) tree.Add(0, t, -1);
    tree.SetDraws(
        0, {std::make_shared<const std::vector<float>>(kVocab, 1.0f / kVocab), {0, 1, 2, 3, 4, 5}});
    const Rows rows(static_cast<size_t>(tree.size()), {0.0f, 2.0f, 0.0f, 2.1f, 0.0f, 0.0f});
    const SamplingParams params{.temperature = 2.0f, .top_k = 2, .seed = seed};
    const Acceptance a = judge_.Verify(tree, rows, {0}, params);
    ASSERT_TRUE(a.next == 1 || a.next == 3);
    ASSERT_EQ(a.path.size(), 2u);
    const Token first = tree.token(a.path[1]);
    ASSERT_TRUE(first == 1 || first == 3);
  }
}

// Logits may be infinite by themselves, by a bias or by a temperature. Tokens at +infinity share
// the mass, and no others are written. A greedy choice takes the lowest id of them.
TEST_P(EveryVerifier, InfiniteLogitsShareTheMass) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  struct Case {
    const char* name;
    std::vector<float> logits;
    SamplingParams params;
    std::set<Token> expected;
  };
  const std::vector<float> usual{0.0f, 2.0f, 0.0f, 2.1f, 0.0f, 0.0f};
  const std::vector<float> none(kVocab, -kInfinite);
  const Case cases[] = {
      {"two infinite", {0, kInfinite, 1, 2, kInfinite, -kInfinite}, {}, {1, 4}},
      {"infinite bias", usual, {.logit_bias = {{4, kInfinite}}}, {4}},
      {"two infinite biases", usual, {.logit_bias = {{4, kInfinite}, {2, kInfinite}}}, {2, 4}},
      {"huge bias, divided", usual, {.temperature = 0.5f, .logit_bias = {{4, 3e38f}}}, {4}},
      {"equal huge biases", usual, {.logit_bias = {{4, 3e38f}, {1, 3e38f}}}, {1, 4}},
      {"ruled out for good",
       {0, kInfinite, 1, 2, kInfinite, 0},
       {.logit_bias = {{1, -kInfinite}}},
       {4}},
      {"behind top-p",
       usual,
       {.top_p = 0.9f, .logit_bias = {{0, kInfinite}, {5, kInfinite}}},
       {0, 5}},
      {"all ruled out", none, {.top_p = 0.999f}, {0, 1, 2, 3, 4, 5}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    CandidateTree tree(0);
    for (Token t = 0; t < kVocab; ++t) tree.Add(0, t, -1);
    tree.SetDraws(
        0, {std::make_shared<const std::vector<float>>(kVocab, 1.0f / kVocab), {0, 1, 2, 3, 4, 5}});
    const Rows rows(static_cast<size_t>(tree.size()), c.logits);
    const auto greedy = judge_.Verify(tree, rows, {0}, [&] {
      SamplingParams params = c.params;
      params.temperature = 0;
      return params;
    }());
    EXPECT_EQ(greedy.next, *c.expected.begin());
    std::set<Token> written;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      SamplingParams params = c.params;
      if (params.temperature == 0) params.temperature = 2;
      params.seed = seed;
      const Acceptance a = judge_.Verify(tree, rows, {0}, params);
      written.insert(a.next);
      for (size_t i = 1; i < a.path.size(); ++i) written.insert(tree.token(a.path[i]));
    }
    if (GetParam()->lossless()) {
      EXPECT_EQ(written, c.expected);
    } else {
      EXPECT_TRUE(std::ranges::includes(c.expected, written));
    }
  }
}

// If a node that is reached has a NaN logit, no token follows it. NaN logits of other nodes do not
// matter.
TEST_P(EveryVerifier, NoTokenAfterANodeWithoutNumbers) {
  const CandidateTree tree = Chain({3, 1});
  Rows rows(3, {0.0f, 0.0f, 0.0f, 50.0f, 0.0f, 0.0f});
  rows[2][5] = NAN;
  for (const float temperature : {0.0f, 1.0f}) {
    const SamplingParams params{.temperature = temperature, .seed = 3};
    EXPECT_EQ(judge_.Verify(tree, rows, {0}, params).next, 3);
    Rows wrong = rows;
    wrong[1][5] = NAN;
    const Acceptance a = judge_.Verify(tree, wrong, {0}, params);
    EXPECT_EQ(a.next, kNoToken);
    EXPECT_EQ(a.path, (std::vector<Node>{0, 1}));
  }
}

TEST_P(EveryVerifier, RefusesOptionsItDoesNotHave) {
  const auto backend = NewTestedBackend({.threads = 1});
  const Json typo = {{"topp", 0.5}};
  const auto made = NewVerifier(GetParam()->name, {*backend, typo});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("topp"));
  EXPECT_THAT(made.error().message, HasSubstr(std::string(GetParam()->name)));
}

std::vector<const VerifierEntry*> Entries() {
  std::vector<const VerifierEntry*> all;
  for (const VerifierEntry& e : AllVerifiers()) all.push_back(&e);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Verifiers, EveryVerifier, ::testing::ValuesIn(Entries()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Registry, NamesAreUniqueAndExactIsTheDefault) {
  std::set<std::string_view> names;
  for (const VerifierEntry& e : AllVerifiers()) EXPECT_TRUE(names.insert(e.name).second);
  EXPECT_EQ(AllVerifiers()[0].name, "exact");
  EXPECT_EQ(AllVerifiers()[0].guarantee, Guarantee::kSameText);
  EXPECT_FALSE((*FindVerifier("typical"))->lossless());
  EXPECT_THAT(FindVerifier("exakt").error().message, HasSubstr("exact, nucleus"));
}

// `make docs` rewrites the page.
TEST(VerifiersPage, HasTheTableOfTheRegistry) {
  const auto backend = NewTestedBackend({.threads = 1});
  std::vector<OptionOwner> owners;
  for (const VerifierEntry& e : AllVerifiers()) {
    OptionFields fields(owners.emplace_back(OptionOwner{e.name, {}}).options);
    ASSERT_TRUE(e.make(*backend, fields).ok()) << e.name;
  }
  ExpectOnPage("methods/verifiers.md", OptionMarkdown("verifiers", owners));
}

// For one seed, a verifier that guarantees the same text writes it with any tree.
TEST(SameText, NoTreeChangesIt) {
  for (const VerifierEntry& e : AllVerifiers()) {
    if (e.guarantee != Guarantee::kSameText) continue;
    Judge judge(e.name);
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const SamplingParams params{.temperature = 1, .seed = seed};
      const Rows flat(13, std::vector<float>(kVocab, 0.0f));
      const auto plain = [&](std::vector<Token> history) {
        return judge.Verify(CandidateTree(history.back()), {flat[0]}, history, params).next;
      };
      const CandidateTree tree = RandomTree(seed, 12);
      const Rows rows(flat.begin(), flat.begin() + tree.size());
      const Acceptance a = judge.Verify(tree, rows, {5, 0}, params);
      std::vector<Token> text{5, 0};
      for (size_t i = 1; i < a.path.size(); ++i) {
        ASSERT_EQ(tree.token(a.path[i]), plain(text));
        text.push_back(tree.token(a.path[i]));
      }
      ASSERT_EQ(a.next, plain(text));
    }
  }
}

// The verifier's top-p applies only if the request gives none.
TEST(Nucleus, FillsInTopP) {
  EXPECT_FLOAT_EQ(Judge("nucleus").verifier().Adapt({.temperature = 1}).top_p, 0.8f);
  EXPECT_FLOAT_EQ(Judge("nucleus").verifier().Adapt({.top_p = 0.5f}).top_p, 0.5f);
  EXPECT_FLOAT_EQ(Judge("nucleus", {{"top_p", 0.3}}).verifier().Adapt({}).top_p, 0.3f);
}

// An accepted draw whose node was pruned is the bonus; `tree` judges every draw, `chain` only the
// first.
TEST(Draws, PrunedOnesAreJudgedToo) {
  CandidateTree tree(0);
  tree.SetDraws(0, {std::make_shared<const std::vector<float>>(kVocab, 1.0f / kVocab), {2, 4}});
  tree.Add(0, 4, -1);
  const Rows rows(2, LogitsOf({0.05, 0.05, 0.4, 0.05, 0.4, 0.05}));
  int second = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const SamplingParams params{.temperature = 1, .seed = seed};
    const Acceptance chain = Judge("chain").Verify(tree, rows, {0}, params);
    EXPECT_EQ(chain.next, 2) << "more likely than drawn";
    EXPECT_EQ(chain.path.size(), 1u);
  }
  const Rows unlikely(2, LogitsOf({0.05, 0.05, 0.0, 0.05, 0.8, 0.05}));
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const SamplingParams params{.temperature = 1, .seed = seed};
    second += Judge("tree").Verify(tree, unlikely, {0}, params).path.size() == 2;
  }
  EXPECT_EQ(second, 100) << "after the refusal all mass is on the second draw";
}

TEST(Forced, WritesTheTextItWasGiven) {
  ForcedVerifier forced({7, 0, 3, 4, 5});
  Sampler sampler({});
  const std::vector<Token> history{7, 0};
  const CandidateTree right = Chain({3, 4}), wrong = Chain({3, 1});
  const Scoring followed{right, {}, history, sampler}, left{wrong, {}, history, sampler};
  const Acceptance all = forced.Verify(std::span(&followed, 1))[0];
  EXPECT_EQ(all.path, (std::vector<Node>{0, 1, 2}));
  EXPECT_EQ(all.next, 5);
  const Acceptance part = forced.Verify(std::span(&left, 1))[0];
  EXPECT_EQ(part.path, (std::vector<Node>{0, 1}));
  EXPECT_EQ(part.next, 4);
}

// The vectors of V-7.
TEST(Typical, VectorsOfTheSpecification) {
  const TypicalRule rule;
  EXPECT_NEAR(TypicalThreshold(std::vector<float>{0.5f, 0.3f, 0.2f}, rule), 0.09, 1e-6);
  EXPECT_NEAR(TypicalThreshold(std::vector<float>{0.5f, 0.3f, 0.2f}, {.eps = 1}), 0.10714, 1e-5);
  EXPECT_NEAR(TypicalThreshold(std::vector<float>{0.97f, 0.02f, 0.01f}, rule), 0.09, 1e-6);
  EXPECT_NEAR(TypicalThreshold(std::vector<float>{0.97f, 0.02f, 0.01f}, {.eps = 1}),
              0.3 * std::exp(-0.15381), 1e-5);
  EXPECT_NEAR(TypicalThreshold(std::vector<float>(20, 0.05f), rule), 0.015003, 1e-6);
  EXPECT_NEAR(TypicalThreshold(std::vector<float>(32000, 1.0f / 32000), rule), 1.2375e-5, 1e-9);
}

TEST(Typical, TakesTheLongestPathThatIsLikelyEnough) {
  const SamplingParams params{.temperature = 1};
  Judge judge("typical");
  const std::vector<float> even = LogitsOf({0.5, 0.3, 0.2}), sharp = LogitsOf({0.97, 0.02, 0.01});
  const Acceptance all = judge.Verify(Chain({2, 1, 0}), {even, even, even, sharp}, {0}, params);
  EXPECT_EQ(all.path.size(), 4u);
  EXPECT_EQ(all.next, 0) << "the likeliest";
  EXPECT_EQ(judge.Verify(Chain({1, 0}), {sharp, even, even}, {0}, params).path.size(), 1u);
  EXPECT_EQ(judge.Verify(Chain({0, 1}), {sharp, sharp, even}, {0}, params).path.size(), 2u);
  Judge strict("typical", {{"eps", 0.4}, {"delta", 100}});
  EXPECT_EQ(strict.Verify(Chain({1}), {even, even}, {0}, params).path.size(), 1u);
}

TEST(Typical, OfEqualLengthsTheLikeliestThenTheFirst) {
  const SamplingParams params{.temperature = 1};
  Judge judge("typical");
  CandidateTree tree(0);
  tree.Add(0, 2, -1);
  const Node likely = tree.Add(0, 0, -1);
  const std::vector<float> p = LogitsOf({0.5, 0.3, 0.2});
  EXPECT_EQ(judge.Verify(tree, {p, p, p}, {0}, params).path, (std::vector<Node>{0, likely}));
  CandidateTree ties(0);
  const Node first = ties.Add(0, 2, -1);
  ties.Add(0, 1, -1);
  const std::vector<float> even = LogitsOf({0.4, 0.3, 0.3});
  EXPECT_EQ(judge.Verify(ties, {even, even, even}, {0}, params).path,
            (std::vector<Node>{0, first}));
}

}  // namespace
}  // namespace foretoken
