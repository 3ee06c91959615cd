#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/rng.h"
#include "tree/candidate_tree.h"
#include "tree/tree_builder.h"

namespace foretoken {
namespace {

std::vector<Token> Tokens(const CandidateTree& tree) {
  std::vector<Token> tokens;
  for (Node n = 0; n < tree.size(); ++n) tokens.push_back(tree.token(n));
  return tokens;
}

std::set<Node> Ancestors(const CandidateTree& tree, Node n) {
  std::set<Node> seen;
  for (; n != kNoNode; n = tree.parent(n)) seen.insert(n);
  return seen;
}

// methods.md 11.4: root -> {a, b}, a -> {c}.
TEST(CandidateTree, MaskAndPositionsOfTheSmallTree) {
  CandidateTree tree(10);
  const Node a = tree.Add(0, 11, -1), b = tree.Add(0, 12, -2), c = tree.Add(a, 13, -0.5f);
  EXPECT_EQ(Ancestors(tree, 0), (std::set<Node>{0}));
  EXPECT_EQ(Ancestors(tree, a), (std::set<Node>{0, a}));
  EXPECT_EQ(Ancestors(tree, b), (std::set<Node>{0, b}));
  EXPECT_EQ(Ancestors(tree, c), (std::set<Node>{0, a, c}));
  EXPECT_EQ(tree.depth(a), 1);
  EXPECT_EQ(tree.depth(b), 1);
  EXPECT_EQ(tree.depth(c), 2);
  EXPECT_FLOAT_EQ(tree.score(c), -1.5f);
  EXPECT_EQ(tree.max_depth(), 2);
  EXPECT_EQ(tree.Parents(), (std::vector<Node>{kNoNode, 0, 0, a}));
}

TEST(CandidateTree, SiblingsAreDistinct) {
  CandidateTree tree(1);
  const Node a = tree.Add(0, 5, -1);
  EXPECT_EQ(tree.Add(0, 5, -3), a);
  EXPECT_EQ(tree.size(), 2);
  EXPECT_EQ(tree.Child(0, 5), a);
  EXPECT_EQ(tree.Child(a, 5), kNoNode);
  EXPECT_NE(tree.Add(a, 5, -1), a);
}

TEST(CandidateTree, ChainIsOneRun) {
  const std::vector<Token> run{7, 7, 8};
  const CandidateTree tree = CandidateTree::Chain(run);
  EXPECT_EQ(Tokens(tree), run);
  EXPECT_EQ(tree.Parents(), (std::vector<Node>{kNoNode, 0, 1}));
  EXPECT_EQ(tree.max_depth(), 2);
}

TEST(TreeBuilder, RunIsCutToDepthAndNodes) {
  const std::vector<Token> run{1, 2, 3, 4, 5, 6};
  TreeBuilder deep(0, {.max_nodes = 64, .max_depth = 4}, ChainPolicy());
  EXPECT_EQ(deep.tree().depth(deep.OfferRun(0, run, -0.1f)), 4);
  EXPECT_EQ(Tokens(deep.Finish()), (std::vector<Token>{0, 1, 2, 3, 4}));
  TreeBuilder narrow(0, {.max_nodes = 3, .max_depth = 64}, ChainPolicy());
  narrow.OfferRun(0, run, -0.1f);
  EXPECT_EQ(Tokens(narrow.Finish()), (std::vector<Token>{0, 1, 2}));
  TreeBuilder none(0, {.max_nodes = 1, .max_depth = 0}, ChainPolicy());
  none.OfferRun(0, run, -0.1f);
  EXPECT_EQ(none.Finish().size(), 1);
}

TEST(TreeBuilder, ChainFollowsTheBestChild) {
  TreeBuilder builder(0, {.max_nodes = 8, .max_depth = 3}, ChainPolicy());
  EXPECT_EQ(builder.TakeFrontier(), (std::vector<Node>{0}));
  builder.Offer(0, std::vector<Scored>{{1, -2.0f}, {2, -1.0f}, {3, -1.0f}});
  const std::vector<Node> next = builder.TakeFrontier();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(builder.tree().token(next[0]), 2);
  builder.Offer(next[0], std::vector<Scored>{{9, -0.5f}});
  builder.Offer(builder.TakeFrontier()[0], std::vector<Scored>{{8, -0.5f}});
  EXPECT_TRUE(builder.TakeFrontier().empty()) << "the depth limit was reached";
  EXPECT_EQ(Tokens(builder.Finish()), (std::vector<Token>{0, 2, 9, 8}));
}

TEST(TreeBuilder, ProbesAreKeptWithinTheBudget) {
  TreeBuilder builder(0, {.max_nodes = 4, .max_depth = 8}, ChainPolicy());
  builder.OfferRun(0, std::vector<Token>{1, 2, 3, 4}, -0.1f);
  const Node probe = builder.AddProbe(0, 50);
  ASSERT_NE(probe, kNoNode);
  ASSERT_NE(builder.AddProbe(probe, 51), kNoNode);
  EXPECT_EQ(builder.AddProbe(0, 1), 1) << "an offered candidate stays one";
  EXPECT_EQ(Tokens(builder.Finish()), (std::vector<Token>{0, 1, 50, 51}));
  ASSERT_NE(builder.AddProbe(0, 52), kNoNode);
  EXPECT_EQ(builder.AddProbe(0, 53), kNoNode);
}

// Whatever is offered, the result is a trie within its limits, parents first.
TEST(TreeBuilder, AlwaysATrieWithinLimits) {
  for (uint64_t trial = 0; trial < 200; ++trial) {
    uint64_t draws = 0;
    const auto random = [&](uint64_t bound) { return Mix(trial * 1000 + ++draws) % bound; };
    const TreeLimits limits{static_cast<int>(1 + random(9)), static_cast<int>(random(5))};
    TreeBuilder builder(0, limits, ChainPolicy());
    for (int i = 0; i < 20; ++i) {
      const Node at = static_cast<Node>(random(static_cast<uint64_t>(builder.tree().size())));
      const auto token = static_cast<Token>(random(6));
      const float log_q = -static_cast<float>(random(100)) / 25.0f;
      if (random(4) == 0) {
        builder.AddProbe(at, token);
      } else {
        builder.Offer(at, std::vector<Scored>{{token, log_q}});
      }
    }
    const CandidateTree tree = builder.Finish();
    ASSERT_LE(tree.size(), limits.max_nodes);
    ASSERT_LE(tree.max_depth(), limits.max_depth);
    std::set<std::pair<Node, Token>> edges;
    for (Node n = 1; n < tree.size(); ++n) {
      ASSERT_LT(tree.parent(n), n);
      ASSERT_TRUE(edges.insert({tree.parent(n), tree.token(n)}).second);
    }
  }
}

}  // namespace
}  // namespace foretoken
