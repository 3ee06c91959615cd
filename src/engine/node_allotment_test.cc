// Tests of the division of a pass's nodes among several texts.
#include "engine/node_allotment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/batch_simulation_testing.h"

namespace foretoken {
namespace {

CostModel Known(const std::function<double(int)>& passes) {
  std::vector<CostModel::Point> points;
  for (int rows = 1; rows <= 1024; rows *= 2) points.push_back({rows, passes(rows) * 0.003});
  return {std::move(points), {}};
}

// Rows are almost free up to 32; each further row adds 0.05 passes.
double MemoryBound(int rows) { return 1 + 0.002 * (rows - 1) + std::max(0.0, 0.05 * (rows - 32)); }
double Linear(int rows) { return rows; }

BatchOutcome Simulate(const std::function<double(int)>& truth, std::vector<double> hits,
                      bool splits_equally, int prompts = 0, int room = 64) {
  CostModel costs = Known(truth);
  BatchSimulation run(costs, std::move(hits));
  run.truth = truth;
  run.splits_equally = splits_equally;
  run.prompts = prompts;
  run.room = room;
  return run.Run(200);
}

// One or two drafters that are always right share passes with drafters that are always wrong.
TEST(NodeAllotment, UnevenLoadsBeatAnEqualSplit) {
  for (const size_t sessions : {4, 6, 8}) {
    for (const size_t right : {1, 2}) {
      std::vector<double> hits(sessions, 0.0);
      std::fill_n(hits.begin(), right, 1.0);
      const BatchOutcome equal = Simulate(MemoryBound, hits, true);
      const BatchOutcome ours = Simulate(MemoryBound, hits, false);
      EXPECT_GT(ours.Speed(), (right == 1 ? 1.1 : 1.3) * equal.Speed()) << sessions;
      EXPECT_GT(ours.nodes[0], equal.nodes[0]) << sessions;
      const auto others = ours.nodes.begin() + static_cast<std::ptrdiff_t>(right);
      EXPECT_LT(std::accumulate(others, ours.nodes.end(), 0), ours.nodes[0] / 4) << sessions;
    }
  }
}

// If all drafters are equally good, the speed is that of an equal split.
TEST(NodeAllotment, EvenLoadsLoseNothing) {
  for (const double hits : {0.3, 0.6, 0.9}) {
    for (const size_t sessions : {2, 6}) {
      const std::vector<double> all(sessions, hits);
      const BatchOutcome equal = Simulate(MemoryBound, all, true);
      const BatchOutcome ours = Simulate(MemoryBound, all, false);
      EXPECT_GT(ours.Speed(), 0.97 * equal.Speed()) << hits << ", " << sessions;
    }
  }
}

// If every row costs as much as a one-row pass, no guess has a gain above its cost.
TEST(NodeAllotment, ManySessionsDraftNothingOnALinearCurve) {
  const BatchOutcome ours = Simulate(Linear, std::vector<double>(16, 0.8), false);
  const int nodes = std::accumulate(ours.nodes.begin(), ours.nodes.end(), 0);
  EXPECT_LE(nodes, 16 * 4) << "only exploration, once a text";
  EXPECT_GT(ours.Speed(), 0.97);
}

// The more sessions share a pass, the fewer nodes each of them gets.
TEST(NodeAllotment, TreesShrinkAsSessionsJoin) {
  double before = 1e9;
  for (const size_t sessions : {1, 4, 12, 32}) {
    const BatchOutcome ours = Simulate(MemoryBound, std::vector<double>(sessions, 0.7), false);
    const int nodes = std::accumulate(ours.nodes.begin(), ours.nodes.end(), 0);
    const double of_each = static_cast<double>(nodes) / static_cast<double>(sessions);
    EXPECT_LT(of_each, before) << sessions;
    before = of_each;
  }
}

// Prompt rows raise the cost of nodes that are added to the pass.
TEST(NodeAllotment, PromptRowsRaiseTheCostOfNodes) {
  const std::vector<double> hits(4, 0.7);
  const BatchOutcome without = Simulate(MemoryBound, hits, false, 0, 128);
  const BatchOutcome with = Simulate(MemoryBound, hits, false, 64, 128);
  EXPECT_LT(std::accumulate(with.nodes.begin(), with.nodes.end(), 0),
            std::accumulate(without.nodes.begin(), without.nodes.end(), 0));
}

std::vector<Node> ShapeOf(const CandidateTree& tree) { return tree.Parents(); }

// If the pass has no room for trees that weigh no costs, their least probable nodes are left out.
TEST(NodeAllotment, TreesThatWeighNoCostsAreCutOnlyForLackOfRoom) {
  const auto policy = *NewTreePolicy("eagle2:total_token=9,depth=3,top_k=3");
  std::vector<TreeBuilder> builders;
  for (const float sure : {-0.1f, -1.0f}) {
    TreeBuilder& builder = builders.emplace_back(7, TreeLimits{}, *policy);
    for (auto nodes = builder.TakeFrontier(); !nodes.empty(); nodes = builder.TakeFrontier()) {
      for (const Node n : nodes) {
        const Scored offers[] = {{1, sure}, {2, 2 * sure}, {3, 3 * sure}};
        builder.Offer(n, offers);
      }
    }
  }
  const NodeOffer offers[] = {{&builders[0], nullptr}, {&builders[1], nullptr}};
  const std::vector<CandidateTree> whole = AllotNodes(offers, {16, 0});
  EXPECT_EQ(ShapeOf(whole[0]), ShapeOf(builders[0].Finish()));
  EXPECT_EQ(ShapeOf(whole[1]), ShapeOf(builders[1].Finish()));
  for (int room = 0; room < 16; ++room) {
    const std::vector<CandidateTree> cut = AllotNodes(offers, {room, 0});
    EXPECT_EQ(cut[0].size() + cut[1].size(), room + 2);
    // No node that was left out is more probable than one that was kept.
    float least_kept = 0, most_cut = -100;
    for (size_t o = 0; o < 2; ++o) {
      for (Node n = 1; n < cut[o].size(); ++n) least_kept = std::min(least_kept, cut[o].score(n));
      std::vector<float> all, kept;
      for (Node n = 1; n < whole[o].size(); ++n) all.push_back(whole[o].score(n));
      for (Node n = 1; n < cut[o].size(); ++n) kept.push_back(cut[o].score(n));
      std::sort(all.begin(), all.end());
      std::sort(kept.begin(), kept.end());
      std::vector<float> left_out;
      std::set_difference(all.begin(), all.end(), kept.begin(), kept.end(),
                          std::back_inserter(left_out));
      if (!left_out.empty()) most_cut = std::max(most_cut, left_out.back());
    }
    EXPECT_LE(most_cut, least_kept) << room;
  }
}

// Probes are taken after all guesses, and a session's probes all together or not at all.
TEST(NodeAllotment, ProbesComeLastAndWhole) {
  std::vector<TreeBuilder> builders;
  for (int s = 0; s < 2; ++s) {
    TreeBuilder& builder = builders.emplace_back(7, TreeLimits{}, ChainPolicy());
    const Node first = builder.AddProbe(0, 40);
    builder.AddProbe(first, 41);
    const Token run[] = {1, 2, 3};
    builder.OfferRun(0, run, -0.5f);
  }
  const NodeOffer offers[] = {{&builders[0], nullptr}, {&builders[1], nullptr}};
  const auto sizes = [&](int room) {
    const std::vector<CandidateTree> trees = AllotNodes(offers, {room, 0});
    return std::pair(trees[0].size() - 1, trees[1].size() - 1);
  };
  EXPECT_EQ(sizes(10), std::pair(5, 5));
  EXPECT_EQ(sizes(9), std::pair(5, 3));
  EXPECT_EQ(sizes(7), std::pair(3, 3));
  EXPECT_EQ(sizes(3), std::pair(2, 1));
}

}  // namespace
}  // namespace foretoken
