// Tests of the auto tree against brute force, and of the measured acceptance rates.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tree/acceptance_table.h"
#include "tree/scripted_drafter_testing.h"

namespace foretoken {
namespace {

using Names = std::vector<std::string>;

// Costs and acceptance set by a test.
struct Prices final : TreeEconomy {
  double pass = 1, row = 0.1, level = 0.1, next = 0.6;
  int most_unread = 0, most_nodes = 1000;
  double stake = 1000;
  bool probes = false, rests = false;
  uint32_t resting_parts = 0;
  int joined = 1;
  const AcceptanceTable* table = nullptr;  // null: the drafter's confidence is the acceptance

  double VerifySeconds(int nodes) const override { return pass + row * (nodes - 1); }
  int MostNodes() const override { return most_nodes; }
  int parts() const override { return joined; }
  double DraftSeconds(int, int levels) const override { return level * levels; }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return table != nullptr ? table->Probability(tree, n) : std::exp(tree.log_q(n));
  }
  double NextAcceptance(const CandidateTree& tree, Node n, int part, int rank) const override {
    if (table != nullptr) return table->NextProbability(part, tree.depth(n), rank);
    return rank == 0 ? next : 0;
  }
  bool IsWorthReading(int, int unread) const override { return unread <= most_unread; }
  double Stake(int) const override { return stake; }
  bool probing(int) const override { return probes; }
  bool resting(int part) const override { return rests || (resting_parts >> part & 1) != 0; }
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
  return tokens / (prices.VerifySeconds(nodes) + prices.DraftSeconds(0, levels));
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

// Nothing is drafted if a level or a row costs more than it gains; a probe is drafted anyway,
// unless the drafter rests.
TEST(AutoTree, DraftsNothingWhereNothingPays) {
  Prices prices;
  prices.level = 0.7;  // a level gains 0.6 tokens at most
  EXPECT_TRUE(Build("auto", RandomBeliefs(1), kWide, &prices).asked.empty());
  prices.probes = true;
  EXPECT_EQ(Build("auto", RandomBeliefs(1), kWide, &prices).asked[0], Names{""});
  prices.rests = true;
  EXPECT_TRUE(Build("auto", RandomBeliefs(1), kWide, &prices).asked.empty());
  Prices dear;
  dear.row = 0.7;
  EXPECT_TRUE(Build("auto", RandomBeliefs(1), kWide, &dear).asked.empty());
}

// A tree has no more nodes than TreeEconomy::MostNodes, beyond which the costs of passes are not
// known.
TEST(AutoTree, PassesGoNoFurtherThanTheirCostsAreKnown) {
  Prices prices;
  prices.row = prices.level = 0;  // every offer is worth its cost
  for (const int most : {1, 2, 5}) {
    prices.most_nodes = most;
    EXPECT_EQ(Build("auto", RandomBeliefs(1), kWide, &prices).tree.size(), most);
  }
}

// Probabilities of sibling guesses never add up to more than 1, because siblings exclude each
// other.
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

// If one drafter is confident, the next has nothing to gain.
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
  prices.joined = 2;
  EXPECT_EQ(asked(0.95f), std::vector<Node>{});
  EXPECT_EQ(asked(0.1f), std::vector<Node>{0});
}

// A resting part gets no frontier, and its offers are not scored unless another part offers them
// too.
TEST(AutoTree, PartsRestAlone) {
  Prices prices;
  prices.joined = 2;
  const auto policy = *NewTreePolicy("auto");
  const auto kept = [&](uint32_t resting) {
    prices.resting_parts = resting;
    TreeBuilder builder(kScriptedRoot, kWide, *policy, std::nullopt, &prices);
    builder.OfferRun(0, std::vector<Token>{'a', 'b'}, std::log(0.45f));
    builder.NextDrafter();
    if (!builder.TakeFrontier().empty()) {
      builder.Offer(0, std::vector<Scored>{{'a', std::log(0.5f)}, {'c', std::log(0.4f)}});
    }
    return Paths(builder.Finish());
  };
  EXPECT_EQ(kept(0), (Names{"a", "ab", "c"}));
  EXPECT_EQ(kept(1), (Names{"a", "c"}));
  EXPECT_EQ(kept(2), (Names{"a", "ab"}));
  EXPECT_EQ(kept(3), Names{});
}

// The stake bounds levels and nodes together.
TEST(AutoTree, RisksNoMoreThanItsStake) {
  const Beliefs sure = [](const std::string&) { return std::vector<Belief>{{'a', 0.9}}; };
  for (const double stake : {0.0, 0.15, 0.25, 0.65, 1.05}) {
    Prices prices;  // a row 0.1, a level 0.1
    prices.next = 0.9;
    prices.stake = stake;
    const Built built = Build("auto", sure, kWide, &prices);
    const double cost = prices.DraftSeconds(0, static_cast<int>(built.asked.size())) +
                        prices.VerifySeconds(built.tree.size()) - prices.pass;
    EXPECT_LE(cost, stake + 1e-9);
    EXPECT_GE(cost, stake - 0.2 - 1e-9) << "and what it may";
  }
}

// Text that is not worth reading is not read, not even for a probe.
TEST(AutoTree, NothingIsReadThatIsNotWorthIt) {
  Prices prices;
  prices.probes = true;
  prices.most_unread = 9;
  const auto policy = *NewTreePolicy("auto");
  TreeBuilder builder(0, kWide, *policy, std::nullopt, &prices);
  EXPECT_EQ(builder.TakeFrontier(10), std::vector<Node>{});
  EXPECT_EQ(builder.read(0), 0);
  EXPECT_EQ(builder.levels(0), 0);
  builder.NextDrafter();
  EXPECT_EQ(builder.TakeFrontier(9), std::vector<Node>{0});
  EXPECT_EQ(builder.read(1), 9);
  EXPECT_EQ(builder.levels(1), 1);
  EXPECT_EQ(builder.levels(0), 0);
}

// Drafters add probes as long as there is room, so the number of probes is bounded by the cost that
// a good guess would repay. Runs are bounded only by their probability.
TEST(AutoTree, ProbesAreNoDearerThanTheyMayBe) {
  Prices prices;  // a row costs 0.1: 2.5 passes have 16 rows
  const auto policy = *NewTreePolicy("auto");
  TreeBuilder builder(0, kWide, *policy, std::nullopt, &prices);
  EXPECT_EQ(builder.limits().max_probes, 15);
  for (Token token = 1; token <= 15; ++token) EXPECT_NE(builder.AddProbe(0, token), kNoNode);
  EXPECT_EQ(builder.AddProbe(0, 16), kNoNode);
  TreeBuilder run(0, kWide, *policy, std::nullopt, &prices);
  run.OfferRun(0, std::vector<Token>(40, 7), -0.001f);
  EXPECT_EQ(run.Finish().size(), 41);
  prices.rests = true;
  TreeBuilder resting(0, kWide, *policy, std::nullopt, &prices);
  EXPECT_EQ(resting.limits().max_nodes, 1);
  EXPECT_EQ(resting.AddProbe(0, 1), kNoNode);
}

// The less a level costs, the more levels are drafted.
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

// A tree with one node below the root, offered with confidence .5.
CandidateTree Guess(Token token) {
  CandidateTree tree(0);
  tree.Add(0, token, std::log(0.5f));
  return tree;
}

TEST(AcceptanceTable, BeginsWithTheDraftersConfidence) {
  const AcceptanceTable table;
  EXPECT_NEAR(table.Probability(Guess(1), 1), 0.5, 1e-6);
}

// Rates are kept apart by mood, the class of the last cycle's outcome.
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

// Rates after a broken stretch and after a miss are kept apart.
TEST(AcceptanceTable, TellsBrokenStretchesFromMisses) {
  AcceptanceTable table;
  CandidateTree run(0);
  run.Add(run.Add(0, 1, std::log(0.5f)), 2, std::log(0.5f));
  const std::vector<Token> broken{1, 9}, missed{9};
  for (int i = 0; i < 200; ++i) {
    table.Observe(run, broken);
    table.Observe(run, broken);  // the cycle after a broken stretch
    table.Observe(run, missed);  // also after a broken stretch
    table.Observe(run, missed);  // the cycle after a miss
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
  AcceptanceTable table(2);
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
  EXPECT_GT(table.NextProbability(0, 0, 0), 0.8);
  EXPECT_LT(table.NextProbability(0, 1, 0), 0.3);
  EXPECT_LT(table.NextProbability(0, 0, 1), 0.05) << "its second guess never is";
  EXPECT_LT(table.NextProbability(1, 0, 0), 0.1);
}

// Rates of other texts apply when a text begins and soon count less than its own.
TEST(AcceptanceTable, BeginsWithWhatOtherTextsShowed) {
  DrafterRates known;
  DrafterRates* const all[] = {&known};
  AcceptanceTable first;
  const std::vector<Token> right{1, 9}, wrong{2};
  for (int i = 0; i < 300; ++i) first.Observe(Guess(1), right, all);
  AcceptanceTable second;
  second.Begin(0, known, {});
  EXPECT_GT(second.Probability(Guess(1), 1), 0.8) << "its drafter says 0.5";
  EXPECT_GT(second.NextProbability(0, 0, 0), 0.7);
  for (int i = 0; i < 40; ++i) second.Observe(Guess(1), wrong);
  EXPECT_LT(second.Probability(Guess(1), 1), 0.3);
  DrafterRates again;
  ASSERT_TRUE(again.Restore(known.ToJson()));
  EXPECT_EQ(again.ToJson().dump(), known.ToJson().dump());
  for (const char* text : {"{}", "[]", "[[1, 2]]"}) {
    EXPECT_FALSE(again.Restore(*ParseJson(text, "x"))) << text;
  }
}

TEST(AcceptanceTable, BeginsWithTheRatesOfTraining) {
  AcceptanceTable table;
  table.Begin(0, {}, std::vector<float>{0.7f, 0.5f});
  EXPECT_NEAR(table.NextProbability(0, 0, 0), 0.7, 1e-6);
  EXPECT_NEAR(table.NextProbability(0, 1, 0), 0.5, 1e-6);
  EXPECT_NEAR(table.NextProbability(0, 5, 0), 0.5, 1e-6) << "no deeper rate is known";
}

// A node that two drafters propose is more likely right than a node that only one of them proposes.
TEST(AcceptanceTable, AgreementCounts) {
  AcceptanceTable table(2);
  const auto by = [](uint32_t proposers) {
    CandidateTree tree(0);
    tree.Add(0, 1, std::log(0.5f), CandidateTree::Kind::kCandidate, kNoPos, proposers);
    return tree;
  };
  EXPECT_NEAR(table.Probability(by(3), 1), 0.75, 1e-6);
  const std::vector<Token> wrong{2};
  for (int i = 0; i < 40; ++i) table.Observe(by(3), wrong);
  EXPECT_LT(table.Probability(by(3), 1), 0.2) << "unless they turn out not to be";
}

// A drafter of runs that is right, then wrong, then right again: its guesses stop being scored and
// are scored again later, without a pass spent on trying them.
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
