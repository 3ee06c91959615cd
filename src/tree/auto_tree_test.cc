// The auto tree against brute force, and learning what guesses are worth.
#include <gtest/gtest.h>

#include <map>

#include "tree/acceptance_table.h"
#include "tree/scripted_drafter_testing.h"

namespace foretoken {
namespace {

using Names = std::vector<std::string>;

// Prices and acceptance that a test sets.
struct Prices final : TreeEconomy {
  double pass = 1, row = 0.1, level = 0.1, next = 0.6;
  int most_unread = 0, most_nodes = 1000;
  bool probes = false, rests = false;
  const AcceptanceTable* table = nullptr;  // null: guesses are what their drafter takes them for

  double VerifySeconds(int nodes) const override { return pass + row * (nodes - 1); }
  int MostNodes() const override { return most_nodes; }
  double DraftSeconds(int levels) const override { return level * levels; }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return table != nullptr ? table->Probability(tree, n) : std::exp(tree.log_q(n));
  }
  double NextAcceptance(const CandidateTree& tree, Node n) const override {
    return table != nullptr ? table->NextProbability(tree.depth(n)) : next;
  }
  bool IsWorthReading(int unread) const override { return unread <= most_unread; }
  bool probing() const override { return probes; }
  bool resting() const override { return rests; }
};

double Rate(const CandidateTree& tree, uint32_t set, const Prices& prices, int levels) {
  double tokens = 1;
  int nodes = 1;
  for (Node n = 1; n < tree.size(); ++n) {
    if ((set >> (n - 1) & 1) == 0) continue;
    const Node parent = tree.parent(n);
    if (parent != 0 && (set >> (parent - 1) & 1) == 0) return 0;
    tokens += std::exp(static_cast<double>(tree.score(n)));
    ++nodes;
  }
  return tokens / (prices.VerifySeconds(nodes) + prices.DraftSeconds(levels));
}

TEST(AutoTree, KeepsTheFastestSubset) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Prices prices;
    prices.row = 0.02 + 0.3 * Uniform(seed, 0, 0);
    const Built built =
        Build("auto:width=2", RandomBeliefs(seed), {.max_nodes = 64, .max_depth = 3}, &prices);
    const int levels = static_cast<int>(built.asked.size());
    ASSERT_LE(built.offered.size(), 15);
    double best = 0;
    for (uint32_t set = 0; set < (1u << (built.offered.size() - 1)); ++set) {
      best = std::max(best, Rate(built.offered, set, prices, levels));
    }
    const uint32_t all = (1u << (built.tree.size() - 1)) - 1;
    EXPECT_NEAR(Rate(built.tree, all, prices, levels), best, 1e-6);
  }
}

TEST(AutoTree, DraftsNothingWhereNothingPays) {
  Prices prices;
  prices.level = 0.7;  // a level earns 0.6 tokens at most
  EXPECT_TRUE(Build("auto", RandomBeliefs(1), kWide, &prices).asked.empty());
  prices.probes = true;
  EXPECT_EQ(Build("auto", RandomBeliefs(1), kWide, &prices).asked[0], Names{""});
  prices.rests = true;
  EXPECT_TRUE(Build("auto", RandomBeliefs(1), kWide, &prices).asked.empty());
  Prices dear;
  dear.row = 0.7;
  EXPECT_TRUE(Build("auto", RandomBeliefs(1), kWide, &dear).asked.empty());
}

TEST(AutoTree, PassesGoNoFurtherThanTheirCostsAreKnown) {
  Prices prices;
  prices.row = prices.level = 0;  // whatever is offered pays
  for (const int most : {1, 2, 5}) {
    prices.most_nodes = most;
    EXPECT_EQ(Build("auto", RandomBeliefs(1), kWide, &prices).tree.size(), most);
  }
}

// Two guesses at the same place cannot both come true, however often each kind does.
TEST(AutoTree, SiblingsShareOneCertainty) {
  Prices prices;
  prices.row = 0.55;
  prices.level = 0;
  const auto kept = [&](double p, double q) {
    const Beliefs pair = [=](const std::string& path) {
      return path.empty() ? std::vector<Belief>{{'a', p}, {'b', q}} : std::vector<Belief>{};
    };
    return Paths(Build("auto", pair, kWide, &prices).tree);
  };
  EXPECT_EQ(kept(0.9, 0.05), Names{"a"});
  EXPECT_EQ(kept(0.9, 0.9), Names{}) << "0.5 each, less than a row costs";
}

// What one drafter is sure of leaves the next nothing to win.
TEST(AutoTree, ASecondDrafterIsAskedWhereTheFirstIsUnsure) {
  Prices prices;
  prices.probes = true;
  const auto policy = *NewTreePolicy("auto");
  const auto asked = [&](float first) {
    TreeBuilder builder(0, kWide, *policy, std::nullopt, &prices);
    builder.OfferRun(0, std::vector<Token>{7}, std::log(first));
    builder.NextDrafter();
    return builder.TakeFrontier();
  };
  EXPECT_EQ(asked(0.95f), std::vector<Node>{});
  EXPECT_EQ(asked(0.1f), std::vector<Node>{0});
}

// Not even to try.
TEST(AutoTree, NothingIsReadThatIsNotWorthIt) {
  Prices prices;
  prices.probes = true;
  prices.most_unread = 9;
  const auto policy = *NewTreePolicy("auto");
  TreeBuilder builder(0, kWide, *policy, std::nullopt, &prices);
  EXPECT_EQ(builder.TakeFrontier(10), std::vector<Node>{});
  EXPECT_EQ(builder.read(), 0);
  EXPECT_EQ(builder.readers(), 0u);
  builder.NextDrafter();
  EXPECT_EQ(builder.TakeFrontier(9), std::vector<Node>{0});
  EXPECT_EQ(builder.read(), 9);
  EXPECT_EQ(builder.readers(), 2u);
}

// Probes take what room there is, so there is no more of it than a pass may cost.
TEST(AutoTree, APassIsNoDearerThanItMayBe) {
  Prices prices;  // row 0.1: 2.5 passes have 16 rows
  const auto policy = *NewTreePolicy("auto");
  EXPECT_EQ(TreeBuilder(0, kWide, *policy, std::nullopt, &prices).limits().max_nodes, 16);
  prices.rests = true;
  TreeBuilder resting(0, kWide, *policy, std::nullopt, &prices);
  EXPECT_EQ(resting.limits().max_nodes, 1);
  EXPECT_EQ(resting.AddProbe(0, 1), kNoNode);
}

TEST(AutoTree, CheapDraftsGoDeeper) {
  const Beliefs sure = [](const std::string&) { return std::vector<Belief>{{'a', 0.9}}; };
  size_t last = 100;
  for (double level : {0.001, 0.05, 0.2, 0.4}) {
    Prices prices;
    prices.row = 0.01;
    prices.level = level;
    prices.next = 0.9;
    const size_t levels =
        Build("auto", sure, {.max_nodes = 64, .max_depth = 40}, &prices).asked.size();
    EXPECT_LT(levels, last);
    last = levels;
  }
  EXPECT_GE(last, 1u);
}

// One node offered with confidence .5 a cycle.
CandidateTree Guess(Token token) {
  CandidateTree tree(0);
  tree.Add(0, token, std::log(0.5f));
  return tree;
}

TEST(AcceptanceTable, BeginsWithTheDraftersConfidence) {
  const AcceptanceTable table;
  EXPECT_NEAR(table.Probability(Guess(1), 1), 0.5, 1e-6);
}

TEST(AcceptanceTable, LearnsTheRateOfEachMood) {
  AcceptanceTable table;
  const std::vector<Token> right{1, 9}, wrong{2};
  bool hit = false;  // stretches: a hit follows a hit in nine of ten cycles, else in one of ten
  for (uint64_t i = 0; i < 4000; ++i) {
    hit = Uniform(1, 1, i) < (hit ? 0.9 : 0.1);
    table.Observe(Guess(1), hit ? right : wrong);
  }
  table.Observe(Guess(1), right);
  EXPECT_NEAR(table.Probability(Guess(1), 1), 0.9, 0.15);
  table.Observe(Guess(1), wrong);
  EXPECT_NEAR(table.Probability(Guess(1), 1), 0.1, 0.15);
}

// After a stretch that broke off another begins, say; after a miss nothing does.
TEST(AcceptanceTable, TellsBrokenStretchesFromMisses) {
  AcceptanceTable table;
  CandidateTree run(0);
  run.Add(run.Add(0, 1, std::log(0.5f)), 2, std::log(0.5f));
  const std::vector<Token> broken{1, 9}, missed{9};
  for (int i = 0; i < 200; ++i) {
    table.Observe(run, broken);
    table.Observe(run, broken);  // what came after a broken stretch
    table.Observe(run, missed);  // after that, too
    table.Observe(run, missed);  // what came after a miss
  }
  EXPECT_LT(table.Probability(run, 1), 0.6) << "after a miss: a stretch or another miss";
  table.Observe(run, broken);
  const double after_broken = table.Probability(run, 1);
  for (int i = 0; i < 40; ++i) table.Observe(run, missed);
  EXPECT_GT(after_broken, table.Probability(run, 1) + 0.3);
  table.Observe(run, broken);
  EXPECT_NEAR(table.Probability(run, 1), after_broken, 0.05) << "which says nothing of misses";
}

TEST(AcceptanceTable, TellsProposersConfidencesAndDepthsApart) {
  AcceptanceTable table;
  CandidateTree tree(0);
  const Node sure = tree.Add(0, 1, std::log(0.97f)), unsure = tree.Add(0, 2, std::log(0.02f));
  const Node other = tree.Add(0, 3, std::log(0.97f), CandidateTree::Kind::kCandidate, kNoPos, 2);
  const Node below = tree.Add(sure, 4, std::log(0.97f));
  const std::vector<Token> written{1, 5};
  for (int i = 0; i < 100; ++i) table.Observe(tree, written);
  EXPECT_GT(table.Probability(tree, sure), 0.8);
  EXPECT_LT(table.Probability(tree, unsure), 0.1);
  EXPECT_LT(table.Probability(tree, other), 0.1) << "the other drafter is always wrong";
  EXPECT_LT(table.Probability(tree, below), 0.3) << "its depth is";
  EXPECT_GT(table.NextProbability(0), 0.8);
  EXPECT_LT(table.NextProbability(1), 0.3);
}

// A drafter of runs that is right, then wrong, then right again: drafts stop and come back without
// a pass being spent on them.
TEST(AutoTree, StopsAndRecovers) {
  AcceptanceTable table;
  Prices prices;
  prices.table = &table;
  const auto policy = *NewTreePolicy("auto");
  const std::vector<Token> run{1, 2, 3, 4, 5, 6};
  const auto cycle = [&](bool right) {
    TreeBuilder builder(0, {.max_nodes = 16, .max_depth = 15}, *policy, std::nullopt, &prices);
    builder.OfferRun(0, run, -0.5f);
    const int drafted = builder.Finish().size() - 1;
    std::vector<Token> written(run.begin(), run.begin() + (right ? drafted : 0));
    written.push_back(right && drafted < 6 ? run[static_cast<size_t>(drafted)] : 99);
    table.Observe(builder.tree(), written);
    return drafted;
  };
  for (int i = 0; i < 30; ++i) cycle(true);
  EXPECT_EQ(cycle(true), 6);
  for (int i = 0; i < 60; ++i) cycle(false);
  EXPECT_EQ(cycle(false), 0);
  for (int i = 0; i < 60; ++i) cycle(true);
  EXPECT_EQ(cycle(true), 6);
}

}  // namespace
}  // namespace foretoken
