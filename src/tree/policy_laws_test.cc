// Tests of what every policy guarantees for any offers, and comparisons of rankings with brute
// force.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tree/scripted_drafter_testing.h"

namespace foretoken {
namespace {

using Names = std::vector<std::string>;

// The paper's procedure, written with probabilities and without shortcuts.
std::set<std::string> PlainPct(const Beliefs& beliefs, double expand, double leaf) {
  std::map<std::string, double> nodes;
  std::vector<std::pair<std::string, double>> frontier{{"", 1.0}};
  while (!frontier.empty()) {
    std::vector<std::pair<std::string, double>> next;
    for (const auto& [path, p] : frontier) {
      for (const Belief& b : beliefs(path)) {
        nodes[path + b.letter] = p * b.probability;
        if (p * b.probability > expand) next.emplace_back(path + b.letter, p * b.probability);
      }
    }
    frontier = std::move(next);
  }
  std::set<std::string> kept;
  for (const auto& [path, p] : nodes) {
    const auto below = nodes.upper_bound(path);
    const bool inner = below != nodes.end() && below->first.starts_with(path);
    if (inner || p >= leaf) kept.insert(path);
  }
  return kept;
}

TEST(Pct, EqualsThePlainProcedure) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Beliefs beliefs = RandomBeliefs(seed);
    const Names paths = Paths(Build("pct:width=3,expand=0.1,leaf=0.05", beliefs).tree);
    EXPECT_EQ(std::set<std::string>(paths.begin(), paths.end()), PlainPct(beliefs, .1, .05));
  }
}

// The highest sum over all subsets of `tree` that are closed under parents and have at most `most`
// nodes.
double BestSum(const CandidateTree& tree, int most) {
  double best = 0;
  for (uint32_t set = 0; set < (1u << (tree.size() - 1)); ++set) {
    int count = 0;
    double sum = 0;
    bool closed = true;
    for (Node n = 1; n < tree.size(); ++n) {
      if ((set >> (n - 1) & 1) == 0) continue;
      const Node parent = tree.parent(n);
      closed = closed && (parent == 0 || (set >> (parent - 1) & 1) != 0);
      sum += std::exp(static_cast<double>(tree.score(n)));
      ++count;
    }
    if (closed && count <= most) best = std::max(best, sum);
  }
  return best;
}

TEST(Eagle2, KeepsTheBestSubset) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const int total = 2 + static_cast<int>(seed % 7);
    const Built built =
        Build("eagle2:depth=2,top_k=2,total_token=" + std::to_string(total), RandomBeliefs(seed));
    ASSERT_EQ(built.offered.size(), 1 + 10);
    double sum = 0;
    for (Node n = 1; n < built.tree.size(); ++n) sum += std::exp(built.tree.score(n));
    EXPECT_NEAR(sum, BestSum(built.offered, total - 1), 1e-6);
  }
}

// Properties that every policy in the registry has, for any offers.
class EveryPolicy : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<TreePolicy> policy_ = *NewTreePolicy(GetParam());
  FixedEconomy economy_;

  CandidateTree RandomTree(uint64_t seed, TreeLimits limits) const {
    uint64_t draws = 0;
    const auto random = [&](uint64_t bound) { return Mix(seed * 1000 + ++draws) % bound; };
    TreeBuilder builder(0, limits, *policy_, std::nullopt, &economy_);
    for (int i = 0; i < 20; ++i) {
      const Node at = static_cast<Node>(random(static_cast<uint64_t>(builder.tree().size())));
      const auto token = static_cast<Token>(random(6));
      const float log_q = -static_cast<float>(random(100)) / 25.0f;
      const uint64_t kind = random(6);
      if (kind == 0) {
        builder.AddProbe(at, token);
      } else if (kind == 1) {
        builder.OfferRun(at, std::vector<Token>{token, 7, 8}, log_q);
      } else if (kind == 2) {
        for (Node n : builder.TakeFrontier()) EXPECT_LT(builder.tree().depth(n), limits.max_depth);
      } else {
        builder.Offer(at, std::vector<Scored>{{token, log_q}, {token + 1, log_q - 1}});
      }
    }
    return builder.Finish();
  }
};

TEST_P(EveryPolicy, KeepsATrieWithinLimits) {
  for (uint64_t trial = 0; trial < 300; ++trial) {
    const TreeLimits limits{1 + static_cast<int>(Mix(trial) % 9), static_cast<int>(trial % 6)};
    const CandidateTree tree = RandomTree(trial, limits);
    ASSERT_LE(tree.size(), limits.max_nodes);
    ASSERT_LE(tree.max_depth(), limits.max_depth);
    std::set<std::pair<Node, Token>> edges;
    for (Node n = 1; n < tree.size(); ++n) {
      ASSERT_LT(tree.parent(n), n);
      ASSERT_TRUE(edges.insert({tree.parent(n), tree.token(n)}).second);
    }
    const CandidateTree again = RandomTree(trial, limits);
    ASSERT_EQ(Paths(again), Paths(tree));
  }
}

// Drafters that copy offer runs: the beginning of a run is kept, and nothing below it is expanded.
TEST_P(EveryPolicy, KeepsTheBeginningOfARun) {
  const std::vector<Token> run{'x', 'y', 'z', 'x', 'y', 'z'};
  TreeBuilder builder(kScriptedRoot, {.max_nodes = 16, .max_depth = 15}, *policy_, std::nullopt,
                      &economy_);
  builder.OfferRun(0, run, -0.1f);
  builder.TakeFrontier();
  EXPECT_TRUE(builder.TakeFrontier().empty());
  const Names kept = Paths(builder.Finish());
  ASSERT_GE(kept.size(), 3u);
  for (size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i], std::string("xyzxyz").substr(0, i + 1));
}

// Every policy expands the root first and keeps at least one guess.
TEST_P(EveryPolicy, ConversesUntilItHasEnough) {
  const Built built =
      Build(GetParam(), RandomBeliefs(3), {.max_nodes = 24, .max_depth = 6}, &economy_);
  ASSERT_FALSE(built.asked.empty());
  EXPECT_EQ(built.asked[0], Names{""});
  EXPECT_GT(built.tree.size(), 1);
  EXPECT_GE((*NewTreePolicy(GetParam()))->DefaultNodes(), 2);
  EXPECT_GE((*NewTreePolicy(GetParam()))->Width(), 1);
}

std::vector<std::string> Everything() {
  std::vector<std::string> names;
  for (const TreeEntry& e : AllTrees()) names.emplace_back(e.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicy, ::testing::ValuesIn(Everything()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace foretoken
