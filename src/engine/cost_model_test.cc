#include "engine/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/rng.h"
#include "engine/cost_file.h"
#include "engine/governor.h"
#include "engine/session_economy.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

TEST(CostModel, StraightLinesBetweenPoints) {
  const CostModel costs({{8, 3}, {1, 1}, {4, 2}}, {.pass = 0.01, .row = 0.001});
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(1, 0), 1);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(2.5, 0), 1.5);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(8, 0), 3);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(12, 0), 4) << "the last line goes on";
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(4, 100), 2 + 100 * (0.01 + 4 * 0.001));
  EXPECT_GT(CostModel({{1, 1}}, {}).VerifySeconds(5, 0), 1);
}

TEST(CostModel, MoreRowsNeverCostLess) {
  const CostModel costs({{1, 2}, {2, 1}, {4, 3}, {8, 2}, {16, 1}}, {});
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(1, 0), 1.5) << "1 and 2 share their mean";
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(16, 0), 2) << "so do the last three";
  double last = 0;
  for (int rows = 1; rows < 40; ++rows) {
    EXPECT_GE(costs.VerifySeconds(rows, 0), last);
    last = costs.VerifySeconds(rows, 0);
  }
}

// Passes of another machine: every cost doubles, and rows get dearer.
TEST(CostModel, FollowsWhatItSees) {
  CostModel costs({{1, 1}, {4, 1.2}, {16, 2}}, {});
  const auto truth = [](int rows) { return 2 + 0.4 * (rows - 1); };
  for (uint64_t i = 0; i < 6000; ++i) {
    const int rows = 1 + static_cast<int>(Mix(i) % 16);
    costs.ObserveVerify(rows, 0, truth(rows));
  }
  for (int rows : {1, 4, 8, 16}) EXPECT_NEAR(costs.VerifySeconds(rows, 0), truth(rows), 0.5);
}

// Attention was measured much too dear: both short and long texts set it right.
TEST(CostModel, LearnsTheContextsShare) {
  CostModel costs({{1, 1}, {8, 1.5}}, {.pass = 0.0018, .row = 0});
  for (uint64_t i = 0; i < 20000; ++i) {
    const int rows = 1 + static_cast<int>(Mix(i) % 8), context = static_cast<int>(Mix(~i) % 1000);
    costs.ObserveVerify(rows, context, 1 + 0.5 / 7 * (rows - 1) + 0.001 * context);
  }
  for (int context : {0, 200, 1000}) {
    EXPECT_NEAR(costs.VerifySeconds(1, context), 1 + 0.001 * context, 0.15) << context;
  }
}

TEST(CostModel, APauseOfTheMachineSaysLittle) {
  CostModel costs({{1, 1}, {4, 1.2}}, {});
  costs.ObserveVerify(1, 0, 600);
  EXPECT_NEAR(costs.VerifySeconds(1, 0), 1, 0.1);
  for (int i = 0; i < 200; ++i) costs.ObserveVerify(1, 0, 600);
  EXPECT_NEAR(costs.VerifySeconds(1, 0), 600, 60) << "a slower machine is no pause";
}

TEST(CostModel, DraftersHaveCostsOfTheirOwn) {
  CostModel costs({{1, 1}}, {});
  DraftCosts& model = costs.Drafter("model");
  EXPECT_DOUBLE_EQ(model.Seconds(1), 0.04) << "a guess";
  model.Observe(0, 0, 0.25);
  model.Observe(3, 0, 9);  // the first warms up
  for (int i = 0; i < 20; ++i) model.Observe(3, 2, 1.0);
  EXPECT_DOUBLE_EQ(model.Seconds(0), 0.25);
  EXPECT_DOUBLE_EQ(model.Seconds(2), 0.75);
  DraftCosts& pld = costs.Drafter("pld");
  pld.Observe(0, 0, 0.125);
  EXPECT_DOUBLE_EQ(pld.Seconds(0), 0.125);
  EXPECT_DOUBLE_EQ(model.Seconds(0), 0.25);
  EXPECT_EQ(&costs.Drafter("model"), &model);
}

TEST(CostModel, TrustFallsWithRestsAndComesBackWithGains) {
  DraftCosts costs(1);
  EXPECT_EQ(costs.trust(), 1);
  costs.ObserveRest();
  costs.ObserveRest();
  EXPECT_EQ(costs.trust(), 0.25);
  for (int i = 0; i < 20; ++i) costs.ObserveRest();
  EXPECT_EQ(costs.trust(), 1.0 / 16);
  for (int i = 0; i < 20; ++i) costs.ObserveGain();
  EXPECT_EQ(costs.trust(), 1);
}

// A plain pass takes a second, a token to read is taken to be a hundredth.
TEST(CostModel, ATextIsReadForADraftThatPaysForIt) {
  DraftCosts costs(1);
  EXPECT_TRUE(costs.IsWorthReading(450, 96, 1)) << "at first, on trust: 4.8 passes";
  EXPECT_FALSE(costs.IsWorthReading(500, 96, 1));
  EXPECT_TRUE(costs.IsWorthReading(500, 192, 1)) << "a longer answer";
  EXPECT_FALSE(costs.IsWorthReading(1400, 100000, 1)) << "answers end sooner than their limit";
  costs.Observe(1, 1000, 0.02 * 1000);
  EXPECT_FALSE(costs.IsWorthReading(450, 96, 1)) << "reading was timed";
  EXPECT_DOUBLE_EQ(costs.Seconds(1), 0.04) << "which says nothing of a level";
  for (int i = 0; i < 50; ++i) costs.ObserveRead(3, 6);
  EXPECT_TRUE(costs.IsWorthReading(1100, 96, 1)) << "half a pass saved a token: 24 passes";
  EXPECT_FALSE(costs.IsWorthReading(1300, 96, 1)) << "to break even is not enough";
  for (int i = 0; i < 500; ++i) costs.ObserveRead(-0.1, 1);
  EXPECT_FALSE(costs.IsWorthReading(20, 96, 1));
  EXPECT_TRUE(costs.IsWorthReading(10, 96, 1)) << "a trifle";
  for (int i = 0; i < 100; ++i) costs.ObserveStart();
  EXPECT_TRUE(costs.IsWorthReading(100, 96, 1)) << "it is tried again";
}

TEST(CostModel, ALongTextIsNotReadForShortAnswers) {
  DraftCosts costs(1);
  EXPECT_TRUE(costs.IsWorthReading(300, 64, 1));
  for (int i = 0; i < 20; ++i) costs.ObserveAnswer(17, false);
  EXPECT_FALSE(costs.IsWorthReading(300, 64, 1)) << "answers have 17 tokens";
  EXPECT_TRUE(costs.IsWorthReading(80, 64, 1)) << "for which less may be read";
  for (int i = 0; i < 20; ++i) costs.ObserveAnswer(64, true);
  EXPECT_TRUE(costs.IsWorthReading(300, 64, 1)) << "at least 64";
  for (int i = 0; i < 20; ++i) costs.ObserveAnswer(16, true);
  EXPECT_TRUE(costs.IsWorthReading(300, 64, 1)) << "of those nobody knows how long they were";
}

// The first drafter copies; the second drafts one level, for which it had to read.
TEST(SavedByReading, IsWhatNobodyElseOffered) {
  const CostModel costs({{1, 1}, {11, 2}}, {});
  DraftCosts drafting(1);
  for (int i = 0; i < 8; ++i) drafting.Observe(1, 0, 0.25);
  const AcceptanceTable acceptance;
  const SessionEconomy economy(costs, drafting, acceptance, {.left = 100});
  const auto policy = *NewTreePolicy("chain");
  TreeBuilder builder(0, {}, *policy, std::nullopt, &economy);
  builder.OfferRun(0, std::vector<Token>{1, 2}, -0.1F);
  builder.NextDrafter();
  EXPECT_EQ(builder.TakeFrontier(3), std::vector<Node>{0});
  CandidateTree scored(0);
  const Node both = scored.Add(0, 1, 0, CandidateTree::Kind::kCandidate, kNoPos, 3);
  scored.Add(both, 2, 0, CandidateTree::Kind::kCandidate, kNoPos, 1);
  const Node theirs = scored.Add(both, 3, 0, CandidateTree::Kind::kCandidate, kNoPos, 2);
  const std::vector<Node> taken = {0, both, theirs}, missed = {0, both};
  EXPECT_NEAR(SavedByReading(economy, builder, scored, taken), 1 - 0.25 - 0.1, 1e-9);
  EXPECT_NEAR(SavedByReading(economy, builder, scored, missed), -0.25 - 0.1, 1e-9);
}

TEST(CostModel, JsonHoldsIt) {
  CostModel costs({{1, 1}, {4, 2}}, {.pass = 0.5, .row = 0.25});
  costs.Drafter("pld").Observe(0, 0, 0.125);
  costs.Drafter("pld").ObserveRest();
  costs.Drafter("model").Observe(2, 100, 0.5);
  costs.Drafter("model").ObserveRead(-5, 20);
  const auto again = CostModel::FromJson(costs.ToJson(), "x");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->ToJson().dump(), costs.ToJson().dump());
  EXPECT_DOUBLE_EQ(again->VerifySeconds(3, 7), costs.VerifySeconds(3, 7));
  for (const char* text :
       {"[]", "{}", R"({"points": [], "context": [0, 0]})",
        R"({"points": [[1, 0]], "context": [0, 0]})",
        R"({"points": [[2, 1], [1, 1]], "context": [0, 0]})",
        R"({"points": [[1, 1]], "context": [0, -1]})",
        R"({"points": [[1, 1]], "context": [0, 0], "drafters": {"a": [1, 1, 1]}})"}) {
    EXPECT_FALSE(CostModel::FromJson(*ParseJson(text, "x"), "x").ok()) << text;
  }
}

TEST(CostModel, MeasuresAModel) {
  const auto backend = *NewCpuBackend({.threads = 1});
  const auto model = *NewRandomModel(*ShapeByName("tiny"), DType::kF32, 1, *backend);
  const CostModel costs = *CostModel::Measure(*model, 0.05);
  EXPECT_GT(costs.VerifySeconds(1, 0), 0);
  EXPECT_GE(costs.VerifySeconds(32, 0), costs.VerifySeconds(1, 0));
  EXPECT_GE(costs.VerifySeconds(1, 500), costs.VerifySeconds(1, 0));
}

// A model whose pass takes longer than all the time there is for measuring.
double SlowPass(int rows, int context) { return 3 + 0.2 * (rows - 1) + 0.001 * context; }

TEST(CostModel, OneRowIsMeasuredHoweverLongItTakes) {
  std::vector<int> asked;
  const auto time = [&asked](int rows, int context) {
    asked.push_back(rows);
    return SlowPass(rows, context);
  };
  const CostModel costs = CostModel::Measure(time, 1024, 512, 0.8);
  EXPECT_EQ(asked, (std::vector<int>{1, 1})) << "the first reads the weights";
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(1, 0), 3);
  EXPECT_TRUE(costs.IsMeasured(1));
  EXPECT_FALSE(costs.IsMeasured(2));
  EXPECT_EQ(costs.MostRows(), 2);
}

TEST(CostModel, MeasuringKeepsToItsTime) {
  for (const double pass : {1e-5, 0.004, 0.1, 0.3, 0.5}) {
    double spent = 0;
    const auto time = [&](int rows, int context) {
      const double seconds = pass * (1 + 0.5 * (rows - 1) + 1e-4 * context);
      spent += seconds;
      return seconds;
    };
    const CostModel costs = CostModel::Measure(time, 1024, 512, 0.8);
    EXPECT_DOUBLE_EQ(costs.VerifySeconds(1, 0), pass);
    EXPECT_LE(spent, std::max(1.0, 2 * pass)) << pass;
  }
}

TEST(CostModel, RealPassesExtendTheCurve) {
  CostModel costs = CostModel::Measure(&SlowPass, 1024, 512, 0.8);
  const auto expect_measured = [](const CostModel& learned) {
    EXPECT_TRUE(learned.IsMeasured(64));
    for (const int rows : {1, 2, 5, 16, 33, 64}) {
      EXPECT_NEAR(learned.VerifySeconds(rows, 0), SlowPass(rows, 0), 0.05) << rows;
    }
  };
  while (costs.MostRows() < 128) {
    const int rows = costs.MostRows();
    costs.ObserveVerify(rows, 0, 600);  // the machine was asleep
    EXPECT_EQ(costs.MostRows(), rows) << "one pass says little";
    costs.ObserveVerify(rows, 0, SlowPass(rows, 0));
    EXPECT_EQ(costs.MostRows(), 2 * rows);
  }
  expect_measured(costs);
  expect_measured(*CostModel::FromJson(costs.ToJson(), "x"));
}

TEST(CostModel, ACurveThatIsExtendedStaysWithinReason) {
  CostModel costs({{1, 1}, {8, 1.5}}, {});
  for (int i = 0; i < 2; ++i) costs.ObserveVerify(16, 0, 0.1);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(16, 0), 1.5) << "more rows cost no less";
  for (int i = 0; i < 2; ++i) costs.ObserveVerify(32, 0, 600);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(32, 0), 3) << "nor more than two passes of half as many";
}

TEST(SessionEconomy, PassesGrowAsFarAsTheirCostsAreKnown) {
  CostModel costs({{1, 1}}, {});
  const DraftCosts drafting(1);
  const AcceptanceTable acceptance;
  const SessionEconomy alone(costs, drafting, acceptance, {.batch = 1});
  const SessionEconomy together(costs, drafting, acceptance, {.batch = 4});
  EXPECT_EQ(alone.MostNodes(), 2);
  EXPECT_TRUE(alone.IsMeasured(1));
  EXPECT_FALSE(alone.IsMeasured(2));
  EXPECT_EQ(together.MostNodes(), 1) << "four rows are a pass that was never timed";
  for (int i = 0; i < 2; ++i) costs.ObserveVerify(4, 0, 1.2);
  EXPECT_EQ(alone.MostNodes(), 8);
  EXPECT_EQ(together.MostNodes(), 2);
  EXPECT_TRUE(together.IsMeasured(1));
}

TEST(Governor, RestsWhatLosesAndLetsItTryAgain) {
  Governor loser;
  int tried = 0, rests = 0;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    if (loser.resting()) {
      ++rests;
      loser.ObserveResting(cycle % 4 == 0);
    } else {
      ++tried;
      loser.Observe(1, 2);
    }
  }
  EXPECT_GT(rests, 980);
  EXPECT_GE(tried, 5) << "it is tried again";
  Governor right;
  right.Observe(1, 5);
  for (int cycle = 0; cycle < 3; ++cycle) {
    EXPECT_TRUE(right.resting());
    right.ObserveResting(true);
  }
  EXPECT_FALSE(right.resting()) << "guesses that come true end a rest";
  Governor winner;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    winner.Observe(cycle % 5 == 0 ? 4 : 1, 1.5);
    EXPECT_FALSE(winner.resting());
  }
  for (int cycle = 0; cycle < 20; ++cycle) winner.Observe(1, 1.5);
  EXPECT_TRUE(winner.resting()) << "old gains do not pay for ever";
}

TEST(Governor, WhatIsNotTrustedBeginsWithARest) {
  EXPECT_FALSE(Governor(0.5).resting());
  Governor doubted(0.25);
  int rest = 0;
  for (; doubted.resting(); ++rest) doubted.ObserveResting(std::nullopt);
  EXPECT_EQ(rest, 128);
  EXPECT_EQ(doubted.Observe(1, 2.5), Governor::Verdict::kRest);
  Governor right(0.0625);
  for (int cycle = 0; cycle < 3; ++cycle) right.ObserveResting(true);
  EXPECT_FALSE(right.resting()) << "its guesses came true";
  EXPECT_EQ(right.Observe(4, 1), Governor::Verdict::kNone);
  EXPECT_EQ(right.Observe(4, 1), Governor::Verdict::kGain);
  EXPECT_EQ(right.Observe(4, 1), Governor::Verdict::kNone) << "said once";
}

TEST(CostStore, KeepsCostsInTheCacheFolder) {
  const std::string folder = ::testing::TempDir() + "foretoken_cost_test";
  std::filesystem::remove_all(folder);
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const auto backend = *NewCpuBackend({.threads = 1});
  const auto model = *NewRandomModel(*ShapeByName("tiny"), DType::kF32, 1, *backend);
  const std::string key = CostKey(*model), path = CostPath(key);
  EXPECT_THAT(path, HasSubstr(folder));
  EXPECT_THAT(ReadCosts(path, key).error().message, HasSubstr(path));
  const CostModel costs({{1, 1.5}}, {});
  ASSERT_TRUE(WriteCosts(path, key, costs).ok());
  EXPECT_DOUBLE_EQ(ReadCosts(path, key)->VerifySeconds(1, 0), 1.5);
  EXPECT_THAT(ReadCosts(path, "other").error().message, HasSubstr("costs of something else"));
  {
    EXPECT_DOUBLE_EQ((*CostStore(*model).Get())->VerifySeconds(1, 0), 1.5) << "not measured again";
  }
  std::ofstream(path) << "{";
  { EXPECT_TRUE(CostStore(*model).Get().ok()); }
  EXPECT_TRUE(ReadCosts(path, key).ok()) << "a broken file is measured anew";
  ASSERT_TRUE(WriteCosts(path, key, costs).ok());
  const auto run = [&model](double seconds) {
    CostStore store(*model);
    for (int i = 0; i < 100; ++i) (*store.Get())->ObserveVerify(1, 0, seconds);
  };
  run(2.5);
  EXPECT_TRUE(ReadCosts(path, key).ok()) << "slower, as by a neighbour";
  run(0.5);
  EXPECT_FALSE(std::filesystem::exists(path)) << "what proved wrong is forgotten";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace foretoken
