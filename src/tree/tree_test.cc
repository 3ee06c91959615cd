// Tests of the candidate tree and of the tree builder.
#include <gtest/gtest.h>

#include <set>

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

// The tree of T-2: root -> {a, b}, a -> {c}.
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

// A node that two drafters propose gets the higher confidence.
TEST(CandidateTree, DuplicatesAreMerged) {
  CandidateTree tree(1);
  const Node a = tree.Add(0, 5, -3), b = tree.Add(a, 6, -1), c = tree.Add(0, 7, -2);
  tree.Add(0, 5, -1, CandidateTree::Kind::kCandidate, kNoPos, 2);
  EXPECT_FLOAT_EQ(tree.score(a), -1);
  EXPECT_FLOAT_EQ(tree.score(b), -2);
  EXPECT_FLOAT_EQ(tree.score(c), -2);
  EXPECT_EQ(tree.proposers(a), 3u);
  EXPECT_EQ(tree.proposers(b), 1u);
  tree.Add(0, 5, -9);
  EXPECT_FLOAT_EQ(tree.log_q(a), -1);
  EXPECT_EQ(tree.FirstChild(0), a);
  EXPECT_EQ(tree.NextSibling(a), c);
  EXPECT_EQ(tree.NextSibling(c), kNoNode);
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
  builder.Offer(0, std::vector<Scored>{{2, -1.0f}, {3, -1.0f}, {1, -2.0f}});
  EXPECT_EQ(builder.tree().size(), 2) << "a chain takes one continuation of an offer";
  builder.Offer(0, std::vector<Scored>{{4, -1.5f}});
  const std::vector<Node> next = builder.TakeFrontier();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(builder.tree().token(next[0]), 2);
  builder.Offer(next[0], std::vector<Scored>{{9, -0.5f}});
  builder.Offer(builder.TakeFrontier()[0], std::vector<Scored>{{8, -0.5f}});
  EXPECT_TRUE(builder.TakeFrontier().empty()) << "the depth limit was reached";
  EXPECT_EQ(Tokens(builder.Finish()), (std::vector<Token>{0, 2, 9, 8}));
}

// If two drafters would draw after the same node, the second one offers its likeliest tokens
// instead.
TEST(TreeBuilder, ANodeHasOneDistribution) {
  const auto policy = *NewTreePolicy("vct:width=2,depth=1");
  TreeBuilder builder(9, {}, *policy, 17);
  builder.OfferDrawn(0, {1, 0, 0, 0}, 2);
  builder.NextDrafter();
  builder.OfferDrawn(0, {0, 0.2f, 0.5f, 0.3f}, 2);
  EXPECT_EQ(builder.tree().draws(0)->order, (std::vector<Token>{0}));
  EXPECT_EQ(Tokens(builder.Finish()), (std::vector<Token>{9, 0, 2, 3}));
}

// The parts of a joined drafter each begin at the root and may continue nodes of other parts.
TEST(TreeBuilder, EveryDrafterBeginsAtTheRoot) {
  const auto policy = *NewTreePolicy("vct:width=2,depth=4");
  TreeBuilder builder(0, {}, *policy);
  EXPECT_EQ(builder.TakeFrontier(), (std::vector<Node>{0}));
  builder.Offer(0, std::vector<Scored>{{1, -1.0f}});
  builder.NextDrafter();
  EXPECT_EQ(builder.TakeFrontier(), (std::vector<Node>{0}));
  builder.Offer(0, std::vector<Scored>{{1, -0.5f}, {2, -2.0f}});
  EXPECT_EQ(builder.TakeFrontier(), (std::vector<Node>{1, 2}));
  builder.Offer(1, std::vector<Scored>{{3, -0.1f}});
  EXPECT_EQ(builder.levels(), 3);
  const CandidateTree tree = builder.Finish();
  EXPECT_EQ(Tokens(tree), (std::vector<Token>{0, 1, 2, 3}));
  EXPECT_EQ(tree.proposers(1), 3u);
  EXPECT_EQ(tree.proposers(3), 2u);
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

// A run may pass through a probe, which then counts as offered but stays a probe.
TEST(TreeBuilder, RunsGoOnBelowProbes) {
  TreeBuilder builder(0, {.max_nodes = 8, .max_depth = 8}, ChainPolicy());
  const Node probe = builder.AddProbe(0, 1);
  EXPECT_FALSE(builder.tree().offered(probe));
  builder.OfferRun(0, std::vector<Token>{1, 2, 3}, -0.5f);
  EXPECT_TRUE(builder.tree().offered(probe));
  EXPECT_EQ(builder.tree().kind(probe), CandidateTree::Kind::kProbe);
  EXPECT_FLOAT_EQ(builder.tree().score(3), -1.5f);
  const CandidateTree tree = builder.Finish();
  EXPECT_EQ(Tokens(tree), (std::vector<Token>{0, 1, 2, 3}));
  EXPECT_TRUE(tree.offered(1)) << "the scored tree, too";
  EXPECT_EQ(tree.kind(1), CandidateTree::Kind::kProbe);
  EXPECT_FLOAT_EQ(tree.score(3), -1.5f);
}

TEST(TreeBuilder, ProbesBelongToTheDrafterThatAddsThem) {
  TreeBuilder builder(0, {.max_nodes = 8, .max_depth = 8}, ChainPolicy());
  builder.Offer(0, std::vector<Scored>{{1, -1.0f}});
  builder.NextDrafter();
  const Node probe = builder.AddProbe(0, 2);
  EXPECT_EQ(builder.tree().proposers(1), 1u);
  EXPECT_EQ(builder.tree().proposers(probe), 2u);
}

// Pruning a node does not remove the record of its draw and of the distribution, on which the
// verifier's guarantee rests.
TEST(TreeBuilder, DrawsOutliveThePruning) {
  const std::vector<float> q{0.1f, 0.4f, 0, 0.3f, 0.2f};
  TreeBuilder builder(9, {.max_nodes = 2, .max_depth = 4}, ChainPolicy(), 17);
  ASSERT_TRUE(builder.wants_draws());
  builder.OfferDrawn(builder.TakeFrontier()[0], q, 3);
  const CandidateTree tree = builder.Finish();
  EXPECT_EQ(tree.size(), 2) << "the likeliest draw";
  ASSERT_NE(tree.draws(0), nullptr);
  EXPECT_EQ(*tree.draws(0)->q, q);
  const std::vector<Token>& order = tree.draws(0)->order;
  EXPECT_EQ(std::set<Token>(order.begin(), order.end()).size(), 3u);
  EXPECT_EQ(tree.draws(1), nullptr);
  EXPECT_FALSE(TreeBuilder(9, {}, ChainPolicy()).wants_draws());
}

// There are at most as many draws as tokens with probability, and none at the depth limit.
TEST(TreeBuilder, DrawsEndWithTheSupportAndTheDepth) {
  TreeBuilder builder(9, {.max_nodes = 16, .max_depth = 1}, ChainPolicy(), 17);
  builder.OfferDrawn(0, {0.5f, 0, 0.5f}, 5);
  EXPECT_EQ(builder.tree().draws(0)->order.size(), 2u);
  builder.OfferDrawn(1, {0.5f, 0, 0.5f}, 5);
  EXPECT_EQ(builder.tree().draws(1), nullptr);
}

// V-5: the distribution of an ordered pair drawn without replacement; q_2 is renormalised.
TEST(TreeBuilder, DrawsFollowTheDistribution) {
  const std::vector<float> q{0.5f, 0.3f, 0.2f};
  constexpr int kTrials = 60000;
  double seen[3][3] = {};
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    TreeBuilder builder(9, {.max_nodes = 16, .max_depth = 1}, ChainPolicy(), seed);
    builder.OfferDrawn(0, q, 2);
    const std::vector<Token>& order = builder.tree().draws(0)->order;
    ++seen[order[0]][order[1]];
  }
  double chi2 = 0;
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      const double expected = kTrials * q[a] * q[b] / (1 - q[a]);
      chi2 += (seen[a][b] - expected) * (seen[a][b] - expected) / expected;
    }
  }
  EXPECT_LT(chi2, 15.09);  // 1 % at 5 degrees of freedom
}

// Draws depend on the seed and on the path to their node.
TEST(TreeBuilder, PathsHaveNoiseOfTheirOwn) {
  const std::vector<float> flat(50, 0.02f);
  std::set<std::vector<Token>> orders;
  for (uint64_t seed : {1, 2}) {
    TreeBuilder builder(9, {}, ChainPolicy(), seed);
    builder.OfferRun(0, std::vector<Token>{4, 5}, -1);
    const Node sibling = builder.OfferRun(0, std::vector<Token>{5}, -1);
    for (Node n : {0, 1, 2, sibling}) {
      builder.OfferDrawn(n, flat, 6);
      orders.insert(builder.tree().draws(n)->order);
    }
  }
  EXPECT_EQ(orders.size(), 8u);
}

// Draws after a node equal the draws after a root at the end of the same text.
TEST(TreeBuilder, ATextHasTheSameDrawsAsNodeAndAsRoot) {
  const std::vector<float> flat(50, 0.02f);
  TreeBuilder below(9, {}, ChainPolicy(), 17);
  const Node node = below.OfferRun(0, std::vector<Token>{4, 5}, -1);
  below.OfferDrawn(node, flat, 6);
  const uint64_t key = TreeBuilder::KeyAfter(TreeBuilder::KeyAfter(17, 4), 5);
  TreeBuilder root(5, {}, ChainPolicy(), key);
  root.OfferDrawn(0, flat, 6);
  EXPECT_EQ(root.tree().draws(0)->order, below.tree().draws(node)->order);
}

TEST(TreeBuilder, RunsRememberWhereTheyWereCopiedFrom) {
  TreeBuilder builder(0, {}, ChainPolicy());
  builder.OfferRun(0, std::vector<Token>{7, 8}, -1);
  builder.OfferRun(0, std::vector<Token>{7, 8, 9}, -1, 40);
  const CandidateTree tree = builder.Finish();
  ASSERT_EQ(tree.size(), 4);
  EXPECT_EQ(tree.source(0), kNoPos);
  for (Node n : {1, 2, 3}) EXPECT_EQ(tree.source(n), 39 + n);
}

// The predicted position is recorded whoever else offers the node, before or after.
TEST(TreeBuilder, RunsRememberWhereTheyWerePredicted) {
  TreeBuilder builder(0, {.max_nodes = 16, .max_depth = 3}, ChainPolicy());
  builder.OfferRun(0, std::vector<Token>{7, 8}, -1, 40);
  builder.OfferPredicted(std::vector<Token>{7, 8, 9, 10}, -1, 5);
  builder.OfferPredicted(std::vector<Token>{7, 8}, -1, 60);
  builder.OfferPredicted({}, -1, 0);
  const CandidateTree tree = builder.Finish();
  ASSERT_EQ(tree.size(), 4);
  EXPECT_EQ(tree.predicted(0), kNoPos);
  for (Node n : {1, 2, 3}) EXPECT_EQ(tree.predicted(n), 4 + n);
  EXPECT_EQ(tree.source(2), 41);
  EXPECT_EQ(tree.source(3), kNoPos);
}

}  // namespace
}  // namespace foretoken
