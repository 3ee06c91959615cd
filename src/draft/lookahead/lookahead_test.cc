// Tests of Lookahead's window, its n-gram pool and the drafter.
#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "draft/conversation_testing.h"
#include "draft/lookahead/ngram_pool.h"
#include "draft/lookahead/window.h"
#include "draft/target_fixture_testing.h"

namespace foretoken {
namespace {

using Words = std::vector<Token>;
using Rows = std::vector<Words>;

// The target's answer after each node: a token computed from the path to that node.
Words Answers(const CandidateTree& tree) {
  Words answers;
  for (Node n = 0; n < tree.size(); ++n) {
    int sum = tree.depth(n);
    for (Node at = n; at != kNoNode; at = tree.parent(at)) sum += 3 * tree.token(at);
    answers.push_back(sum % 12);
  }
  return answers;
}

Rows Cells(const LookaheadWindow& window) { return {window.cells().begin(), window.cells().end()}; }

CandidateTree TreeOf(const LookaheadWindow& window, Token root, TreeLimits limits = {}) {
  TreeBuilder builder(root, limits, ChainPolicy());
  window.AddTo(builder);
  return builder.Finish();
}

TEST(NgramPool, TheMostRecentComesFirstAndTheOldestGoes) {
  NgramPool pool(2);
  pool.Remember(1, Words{2, 3});
  pool.Remember(1, Words{4, 5});
  pool.Remember(1, Words{2, 3});
  ASSERT_EQ(pool.After(1).size(), 2u) << "an n-gram is kept once";
  EXPECT_EQ(pool.After(1)[0], (Words{2, 3}));
  pool.Remember(1, Words{6, 7});
  EXPECT_EQ(pool.After(1)[0], (Words{6, 7}));
  EXPECT_EQ(pool.After(1)[1], (Words{2, 3}));
  EXPECT_TRUE(pool.After(9).empty());
}

// B-22 with N = 4 and W = 2, hence three rows, worked out by hand.
TEST(Window, FillsRowByRowThenMovesOnByOne) {
  LookaheadWindow window(3, {1, 2, 3});
  // Root 7 and a run 1 2 3; the answers after 1, 2 and 3 become the second row.
  CandidateTree tree = TreeOf(window, 7);
  EXPECT_EQ(Shown(tree), "0:1 1:2 2:3");
  EXPECT_TRUE(window.Advance(tree, Words{50, 51, 52, 53}).empty());
  EXPECT_EQ(Cells(window), (Rows{{2, 3}, {51, 52, 53}}));
  EXPECT_FALSE(window.full());

  // Row 0 is now root, 2, 3, with 51, 52, 53 below them.
  tree = TreeOf(window, 8);
  EXPECT_EQ(Shown(tree), "0:2 1:3 0:51 1:52 2:53");
  EXPECT_TRUE(window.Advance(tree, Words{60, 61, 62, 63, 64, 65}).empty());
  EXPECT_EQ(Cells(window), (Rows{{3}, {52, 53}, {64, 65}}));
  EXPECT_TRUE(window.full());

  tree = TreeOf(window, 9);
  EXPECT_EQ(Shown(tree), "0:3 0:52 1:53 2:64 3:65");
  EXPECT_EQ(window.Advance(tree, Words{70, 71, 72, 73, 74, 75}),
            (Rows{{9, 52, 64, 74}, {3, 53, 65, 75}}));
  EXPECT_EQ(Cells(window), (Rows{{53}, {64, 65}, {74, 75}}));
}

// B-21: cell (a, c) attends to row 0 up to column c and to its own column; its position is a + c.
TEST(Window, MaskAndPositionsAreTheComb) {
  LookaheadWindow window(4, {20, 21, 22, 23, 24, 25});
  CandidateTree tree = TreeOf(window, 7);
  for (int pass = 0; pass < 6; ++pass) {
    Words answers;
    for (Node n = 0; n < tree.size(); ++n) answers.push_back(100 * (pass + 1) + n);
    window.Advance(tree, answers);
    tree = TreeOf(window, 8);
  }
  const Rows cells = Cells(window);
  for (size_t c = 0; c < 4; ++c) {
    Node n = 0;
    for (size_t i = 0; i < c; ++i) n = tree.Child(n, cells[0][i]);
    for (size_t a = 1; a < 4; ++a) {
      n = tree.Child(n, cells[a][c]);
      ASSERT_NE(n, kNoNode);
      EXPECT_EQ(tree.depth(n), static_cast<int>(a + c));
      EXPECT_EQ(tree.kind(n), CandidateTree::Kind::kProbe);
    }
  }
  EXPECT_EQ(tree.size(), 4 * 4);
}

// A window that does not fit the limits adds no probes and does not advance.
TEST(Window, NoRoomMeansNoProbesAndNoChange) {
  LookaheadWindow window(3, {1, 2, 3});
  EXPECT_EQ(TreeOf(window, 7, {.max_nodes = 3, .max_depth = 9}).size(), 1);
  EXPECT_EQ(TreeOf(window, 7, {.max_nodes = 9, .max_depth = 2}).size(), 1);
  EXPECT_EQ(TreeOf(window, 7, {.max_nodes = 9, .max_depth = 9, .max_probes = 2}).size(), 1);
  EXPECT_EQ(TreeOf(window, 7, {.max_nodes = 4, .max_depth = 3, .max_probes = 3}).size(), 4);
  EXPECT_TRUE(window.Advance(CandidateTree(7), Words{5}).empty());
  EXPECT_EQ(Cells(window), (Rows{{1, 2, 3}}));
}

class LookaheadDrafts : public TargetFixture {
 protected:
  LookaheadDrafts() : TargetFixture(TestConfig({.vocab = 12})) {}

  std::unique_ptr<Drafter> New(const Json& options) { return *Build("lookahead", options); }
};

// The target's answers below a root become a guess when that root occurs again.
TEST_F(LookaheadDrafts, OffersTheNgramsOfTheWindow) {
  const auto drafter = New({{"ngram", 3}, {"window", 2}, {"guesses", 2}});
  Conversation talk(*drafter);
  talk.Prompt(Words{1, 2, 3, 4, 5});
  CandidateTree tree = talk.Propose();
  ASSERT_EQ(tree.size(), 3) << "the root and W + N - 3 seeds";
  LookaheadWindow window(2, {tree.token(1), tree.token(2)});  // mirrors the drafter's window
  std::map<Token, Words> latest;                              // by first token
  int guesses = 0;
  for (int pass = 0; pass < 12; ++pass) {
    const Words answers = Answers(tree);
    for (const Words& ngram : window.Advance(tree, answers)) latest[ngram[0]] = ngram;
    talk.Write(tree, Words{static_cast<Token>(pass * 5 % 12)}, answers);
    tree = talk.Propose();
    EXPECT_EQ(Shown(tree), Shown(talk.Propose())) << "Propose is repeatable";
    if (!latest.contains(talk.root())) continue;
    const Words& guess = latest[talk.root()];
    const Node first = tree.Child(0, guess[1]);
    ASSERT_NE(first, kNoNode);
    EXPECT_NE(tree.Child(first, guess[2]), kNoNode);
    ++guesses;
  }
  EXPECT_GE(guesses, 2);
}

TEST_F(LookaheadDrafts, PoolMayLearnTheTextItself) {
  const auto drafter = New({{"ngram", 3}, {"window", 1}, {"guesses", 2}, {"pool", "text"}});
  Conversation talk(*drafter);
  talk.Prompt(Words{1, 2, 3, 1, 4, 5, 1});
  const CandidateTree tree = talk.Propose({}, {}, KeepAllPolicy());
  const Node four = tree.Child(0, 4), two = tree.Child(0, 2);
  ASSERT_NE(four, kNoNode);
  ASSERT_NE(two, kNoNode);
  EXPECT_LT(four, two) << "the most recent first";
  EXPECT_NE(tree.Child(four, 5), kNoNode);
  EXPECT_NE(tree.Child(two, 3), kNoNode);

  // A new prompt: n-grams of the old one are gone, those of the new one are known.
  drafter->Truncate(talk.state(), 0);
  talk.Prompt(Words{6, 7, 8, 6});
  const CandidateTree again = talk.Propose({}, {}, KeepAllPolicy());
  ASSERT_NE(again.Child(0, 7), kNoNode);
  EXPECT_NE(again.Child(again.Child(0, 7), 8), kNoNode);
  talk.Write(again, Words{1}, Answers(again));
  const CandidateTree later = talk.Propose({}, {}, KeepAllPolicy());
  const Node old = later.Child(0, 4);
  EXPECT_TRUE(old == kNoNode || later.Child(old, 5) == kNoNode) << "1 4 5 was the old prompt's";
}

TEST_F(LookaheadDrafts, AWindowTakesHalfThePassAtMost) {
  const auto drafter = New({{"ngram", 5}, {"window", 7}});
  for (const auto& [nodes, seeds] : {std::pair(16, 4), std::pair(56, 9), std::pair(40, 7)}) {
    Conversation talk(*drafter);
    talk.Prompt(Words{1, 2, 3, 4, 5});
    EXPECT_EQ(talk.Propose({.max_nodes = nodes, .max_depth = 20}).size(), 1 + seeds);
  }
}

// A token that ends an answer may end an n-gram, but no row is built on it.
TEST_F(LookaheadDrafts, NoRowHoldsAnEnd) {
  TokenizerData data = ToyTokenizer(12)->data();
  data.eos = 7;
  data.eog = {7, 8};
  const auto tokenizer = *Tokenizer::Create(data, "toy");
  const Json options = {{"ngram", 4}, {"window", 3}};
  const auto drafter = *NewDrafter("lookahead", {*model_, 64, options, "", tokenizer.get()});
  Conversation talk(*drafter);
  talk.Prompt(Words{1, 2, 3, 4, 5});
  for (int pass = 0; pass < 10; ++pass) {
    const CandidateTree tree = talk.Propose();
    for (Node n = 1; n < tree.size(); ++n) {
      const bool probe = tree.kind(n) == CandidateTree::Kind::kProbe;
      EXPECT_TRUE(!probe || tree.token(n) <= 6) << tree.token(n) << " in pass " << pass;
    }
    Words ends(static_cast<size_t>(tree.size()), pass % 2 == 0 ? 7 : 8);
    talk.Write(tree, Words{static_cast<Token>(pass % 6)}, ends);
  }
}

}  // namespace
}  // namespace foretoken
