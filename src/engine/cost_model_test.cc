// Tests of cost estimates: single estimates, the cost model, drafters' costs, the governor and the
// cost file.
#include "engine/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/rng.h"
#include "engine/cost_file.h"
#include "engine/estimate.h"
#include "engine/governor.h"
#include "engine/session_economy.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

TEST(Estimate, ConvergesToTheMean) {
  Estimate estimate(1, /*weight=*/0.5);
  EXPECT_DOUBLE_EQ(estimate.value(), 1);
  for (int i = 0; i < 200; ++i) estimate.Observe(i % 2 == 0 ? 1.8 : 2.2);
  EXPECT_NEAR(estimate.value(), 2, 0.1);
}

TEST(Estimate, AnOutlierHasLittleWeight) {
  for (const int seen : {0, 1, 5, 50}) {
    Estimate estimate(1);
    for (int i = 0; i < seen; ++i) estimate.Observe(1);
    estimate.Observe(20);
    EXPECT_LT(estimate.value(), 1.15) << seen;
    estimate.Observe(1);
    EXPECT_LT(estimate.value(), 1.1) << seen;
  }
}

TEST(Estimate, FollowsALastingChange) {
  Estimate estimate(1);
  for (int i = 0; i < 3; ++i) estimate.Observe(20);
  EXPECT_GT(estimate.value(), 10) << "few observations: adapts at once";
  Estimate old(1);
  for (int i = 0; i < 50; ++i) old.Observe(1);
  for (int i = 0; i < 200; ++i) old.Observe(20);
  EXPECT_NEAR(old.value(), 20, 1) << "many observations: adapts slowly";
}

TEST(Estimate, CorrectsADisturbedFirstObservation) {
  Estimate estimate(0.01, /*weight=*/0.001);
  estimate.Observe(20);
  estimate.Observe(1);
  EXPECT_NEAR(estimate.value(), 1, 1e-6) << "load never shortens a pass";
  Estimate doubted(1, /*weight=*/0.001);
  doubted.Observe(20);
  for (int i = 0; i < 20; ++i) doubted.Doubt();
  EXPECT_LT(doubted.value(), 1.1) << "ages without observations";
}

TEST(Estimate, ForgetsWhatIsObservedNoMore) {
  Estimate idle(0.1), busy(0.1);
  for (int i = 0; i < 50; ++i) idle.Observe(0.5), busy.Observe(0.5);
  for (int i = 0; i < 20; ++i) {
    idle.Doubt();
    busy.Observe(0.5);
    busy.Doubt();
  }
  EXPECT_LT(idle.value(), 0.12) << "a busy hour does not decide for good";
  EXPECT_NEAR(busy.value(), 0.5, 0.01);
}

TEST(Estimate, SurvivesJson) {
  Estimate estimate(1);
  estimate.Observe(2);
  Estimate again(7);
  ASSERT_TRUE(again.Restore(estimate.ToJson()));
  EXPECT_DOUBLE_EQ(again.value(), estimate.value());
  EXPECT_EQ(again.observations(), 1);
  for (const char* text : {"{}", "[1]", "[0, 1]", "[1, -1]", "[\"1\", 1]"}) {
    EXPECT_FALSE(again.Restore(*ParseJson(text, "x"))) << text;
  }
}

TEST(CostModel, InterpolatesLinearly) {
  const CostModel costs({{8, 3}, {1, 1}, {4, 2}}, {.pass = 0.01, .row = 0.001});
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(1, 0), 1);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(2.5, 0), 1.5);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(8, 0), 3);
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(12, 0), 4) << "extrapolates the last segment";
  EXPECT_DOUBLE_EQ(costs.VerifySeconds(4, 100), 2 + 100 * (0.01 + 4 * 0.001));
  EXPECT_GT(CostModel({{1, 1}}, {}).VerifySeconds(5, 0), 1);
}

// True pass times of a simulated machine whose costs differ from the guess.
double Truth(int rows, int context) { return 0.002 * (1 + 0.3 * (rows - 1) + 0.0002 * context); }

CostModel Guessed() {
  return CostModel::Assume({{1, 1}, {4, 1.2}, {16, 2}, {64, 6}}, {.pass = 0.0002, .row = 0});
}

TEST(CostModel, LearnsTheTrueCurve) {
  CostModel costs = Guessed();
  EXPECT_FALSE(costs.has_plain_pass());
  for (uint64_t i = 0; i < 400; ++i) {
    const int rows = i < 2 || i % 2 == 0 ? 1 : 1 + static_cast<int>(Mix(i) % 16);
    const int context = static_cast<int>(Mix(~i) % 500);
    costs.ObserveVerify(rows, context, Truth(rows, context) * (0.97 + 0.06 * Uniform(1, 2, i)));
  }
  EXPECT_TRUE(costs.has_plain_pass());
  for (const int rows : {1, 2, 3, 5, 8, 12, 16}) {
    EXPECT_NEAR(costs.VerifySeconds(rows, 100) / Truth(rows, 100), 1, 0.08) << rows;
  }
  double last = 0;
  for (int rows = 1; rows < 100; ++rows) {
    EXPECT_GE(costs.VerifySeconds(rows, 0), last) << "more rows never cost less";
    last = costs.VerifySeconds(rows, 0);
  }
}

// Timing passes with some number of rows also corrects the costs of similar numbers, unless passes
// with those numbers were timed as well.
TEST(CostModel, ObservationsCorrectNearbyRowCounts) {
  CostModel costs = Guessed();
  for (int i = 0; i < 2; ++i) costs.ObserveVerify(1, 0, Truth(1, 0));
  for (int i = 0; i < 4; ++i) costs.ObserveVerify(8, 0, Truth(8, 0));
  const double guess = Guessed().VerifySeconds(10, 0) / Guessed().VerifySeconds(1, 0);
  EXPECT_GT(costs.VerifySeconds(10, 0) / costs.VerifySeconds(1, 0), 1.5 * guess);
  for (int i = 0; i < 4; ++i) costs.ObserveVerify(4, 0, 1.05 * Truth(1, 0));
  EXPECT_LT(costs.VerifySeconds(4, 0) / costs.VerifySeconds(1, 0), 1.2)
      << "costs may rise in steps: four rows cheap, eight expensive";
}

TEST(CostModel, AnOutlierHasLittleWeight) {
  CostModel costs = Guessed();
  for (int i = 0; i < 4; ++i) costs.ObserveVerify(1, 0, Truth(1, 0));
  for (const int rows : {1, 4}) {
    const double before = costs.VerifySeconds(rows, 0) / costs.VerifySeconds(1, 0);
    costs.ObserveVerify(rows, 0, 600);
    EXPECT_NEAR(costs.VerifySeconds(rows, 0) / costs.VerifySeconds(1, 0), before, 0.2) << rows;
  }
}

// Other load on the machine slows passes of all sizes down, which is no reason to draft less.
TEST(CostModel, ASlowerMachineKeepsRelativeCosts) {
  CostModel costs = Guessed();
  const auto run = [&costs](int from, int to, int least, double slower) {
    for (int i = from; i < to; ++i) {
      const int rows = least + i % 4;
      costs.ObserveVerify(rows, 0, slower * Truth(rows, 0));
    }
  };
  run(0, 100, 1, 1);
  run(100, 160, 2, 2.5);  // no more one-row passes
  EXPECT_NEAR(costs.VerifySeconds(4, 0) / costs.VerifySeconds(1, 0), Truth(4, 0) / Truth(1, 0),
              0.35);
  EXPECT_NEAR(costs.VerifySeconds(4, 0) / (2.5 * Truth(4, 0)), 1, 0.2);
}

// Even if the first one-row passes were disturbed, a one-row pass is never taken to cost more than
// a larger pass.
TEST(CostModel, AOneRowPassCostsNoMoreThanALargerOne) {
  CostModel costs = Guessed();
  for (int i = 0; i < 2; ++i) costs.ObserveVerify(1, 0, 20 * Truth(1, 0));
  costs.ObserveVerify(2, 0, Truth(2, 0));
  EXPECT_LT(costs.VerifySeconds(1, 0), 1.2 * Truth(2, 0));
}

TEST(CostModel, MostRowsIsTwiceTheMostTimed) {
  CostModel costs = Guessed();
  for (int i = 0; i < 2; ++i) costs.ObserveVerify(1, 0, Truth(1, 0));
  EXPECT_EQ(costs.MostRows(), 2);
  costs.ObserveVerify(2, 0, Truth(2, 0));
  EXPECT_EQ(costs.MostRows(), 4);
  EXPECT_EQ(CostModel({{1, 1}, {16, 2}}, {}).MostRows(), 32) << "known costs";
}

TEST(CostModel, DraftersHaveCostsOfTheirOwn) {
  CostModel costs({{1, 1}}, {});
  DraftCosts& model = costs.Drafter("model");
  EXPECT_DOUBLE_EQ(model.Passes(1) - model.Passes(0), 0.04) << "a guess";
  EXPECT_FALSE(model.drafts_levels());
  for (int i = 0; i < 40; ++i) model.Observe(0, 0, 0.25);
  for (int i = 0; i < 40; ++i) model.Observe(3, 2, 1.0);
  EXPECT_NEAR(model.Passes(0), 0.25, 0.01);
  EXPECT_NEAR(model.Passes(2), 0.75, 0.02);
  EXPECT_TRUE(model.drafts_levels());
  model.Observe(1, 100, 0.5 + 2);
  EXPECT_NEAR(model.ReadingPasses(100), 2, 1) << "reading was timed";
  EXPECT_NEAR(model.Passes(2), 0.75, 0.02) << "the level's cost is unchanged";
  EXPECT_LT(costs.Drafter("pld").Passes(0), 0.01);
  EXPECT_EQ(&costs.Drafter("model"), &model);
}

TEST(DraftCosts, LevelCostIsGuessedUntilItIsTimed) {
  DraftCosts costs;
  costs.ExpectLevel(0.3);
  EXPECT_DOUBLE_EQ(costs.Passes(1) - costs.Passes(0), 0.3);
  for (int i = 0; i < 40; ++i) costs.Observe(1, 0, 0.2);
  costs.ExpectLevel(0.3);
  EXPECT_NEAR(costs.Passes(1), 0.2, 0.01) << "the timed cost replaces the guess";
}

// After a rest a draft reads what was written meanwhile, so its levels are never timed alone.
TEST(DraftCosts, LevelsFoundCheaperAfterARestAreBelieved) {
  DraftCosts costs;
  costs.ExpectLevel(0.1);
  costs.ExpectReading(0.001);
  for (int i = 0; i < 40; ++i) costs.Observe(1, 0, 0.4);
  for (int i = 0; i < 2; ++i) costs.Observe(1, 24, 0.124);
  EXPECT_LT(costs.Passes(1), 0.13);
  EXPECT_NEAR(costs.ReadingPasses(24), 0.024, 0.02);
  for (int i = 0; i < 100; ++i) costs.Observe(1, 0, 0.4);
  EXPECT_NEAR(costs.Passes(1), 0.4, 0.02) << "and if it was a mistake, it is mended";
}

TEST(DraftCosts, TrustFallsWithFailuresAndComesBackWithGains) {
  DraftCosts costs;
  EXPECT_EQ(costs.trust(), 1);
  costs.ObserveFailure();
  costs.ObserveFailure();
  EXPECT_EQ(costs.trust(), 0.25);
  for (int i = 0; i < 20; ++i) costs.ObserveFailure();
  EXPECT_EQ(costs.trust(), 1.0 / 16);
  for (int i = 0; i < 20; ++i) costs.ObserveStart();
  EXPECT_EQ(costs.trust(), 1) << "trust recovers";
  costs.ObserveFailure();
  costs.ObserveWin();
  EXPECT_EQ(costs.trust(), 1);
}

TEST(DraftCosts, GainsOfOtherTextsAreCredit) {
  DraftCosts costs;
  costs.ObserveGain(5);
  EXPECT_EQ(costs.Credit(), 0) << "too few cycles";
  for (int i = 0; i < 400; ++i) costs.ObserveGain(0.05);
  EXPECT_NEAR(costs.mean_gain(), 0.05, 0.02);
  EXPECT_NEAR(costs.Credit(), 64 * 0.05, 1);
  for (int i = 0; i < 400; ++i) costs.ObserveGain(-0.05);
  EXPECT_EQ(costs.Credit(), 0);
}

// Reading a token is guessed to cost a hundredth of a pass.
TEST(DraftCosts, ReadsTextIfTheExpectedGainCoversIt) {
  DraftCosts costs;
  EXPECT_TRUE(IsWorthReading(costs, 55, /*allowed=*/1.2, /*expected=*/128));
  EXPECT_FALSE(IsWorthReading(costs, 65, 1.2, 128)) << "exceeds the budget of an unproven draft";
  EXPECT_TRUE(IsWorthReading(costs, 5, 0, 128)) << "always affordable";
  for (int answer = 0; answer < 20; ++answer) {
    costs.ObserveWritten(128);  // an answer without drafting, which does not count
    for (int i = 0; i < 64; ++i) costs.ObserveGain(0.2);
    costs.ObserveWritten(128);
  }
  EXPECT_TRUE(IsWorthReading(costs, 370, 1.2, 128)) << "0.3 of the 12.8 passes of expected gain";
  EXPECT_FALSE(IsWorthReading(costs, 400, 1.2, 128));
  EXPECT_TRUE(IsWorthReading(costs, 740, 1.2, 256)) << "a longer answer";
}

TEST(DraftCosts, UnspentExplorationPaysForReading) {
  DraftCosts costs;
  costs.Save(3, /*won=*/0);
  EXPECT_TRUE(IsWorthReading(costs, 355, /*allowed=*/1.2, /*expected=*/128));
  EXPECT_FALSE(IsWorthReading(costs, 365, 1.2, 128));
  EXPECT_EQ(costs.PayForReading(2), 2);
  EXPECT_EQ(costs.PayForReading(2), 1) << "all that was left";
  costs.SetPromise(4);
  EXPECT_EQ(costs.PayForReading(5), 4) << "borrowed from later answers";
  EXPECT_EQ(costs.ReadingCredit(), 0);
  EXPECT_EQ(costs.savings(), -4);
  DraftCosts again;
  ASSERT_TRUE(again.Restore(costs.ToJson()));
  EXPECT_EQ(again.savings(), -4);
  costs.Save(0, /*won=*/3);
  EXPECT_EQ(costs.savings(), -1) << "repaid by the gain";
  costs.Save(0, /*won=*/100);
  EXPECT_EQ(costs.savings(), 0) << "gains only repay debts";
  costs.Save(1000, 0);
  EXPECT_LT(costs.savings(), 100) << "savings are limited";
}

TEST(DraftCosts, ARestoredLevelCostMovesTowardsItsGuess) {
  DraftCosts costs;
  costs.ExpectLevel(0.1);
  costs.Observe(1, 0, 0.9);
  DraftCosts again;
  ASSERT_TRUE(again.Restore(costs.ToJson()));
  again.ExpectLevel(0.1);
  for (int i = 0; i < 50; ++i) again.ObserveStart();
  EXPECT_NEAR(again.Passes(1), 0.1, 0.02);
}

TEST(AnswerLengths, IgnoresShortAnswersThatWereCutOff) {
  AnswerLengths answers;
  EXPECT_EQ(answers.Expected(64), 64);
  for (int i = 0; i < 40; ++i) answers.Observe(17, false);
  EXPECT_NEAR(answers.Expected(64), 17, 1);
  for (int i = 0; i < 40; ++i) answers.Observe(64, true);
  EXPECT_NEAR(answers.Expected(100), 64, 1) << "at least 64";
  for (int i = 0; i < 40; ++i) answers.Observe(16, true);
  EXPECT_NEAR(answers.Expected(100), 64, 1) << "cut off below the typical length";
}

// The first part copies; the second drafts one level.
TEST(GainOf, CountsTokensThatNoOtherPartOffered) {
  CostModel costs({{1, 1}, {11, 2}}, {});
  DraftCosts copying, drafting;
  for (int i = 0; i < 40; ++i) copying.Observe(0, 0, 0.01);
  for (int i = 0; i < 40; ++i) drafting.Observe(0, 0, 0.01);
  for (int i = 0; i < 40; ++i) drafting.Observe(1, 0, 0.25);
  DraftCosts* const parts[] = {&copying, &drafting};
  SessionCosts session;
  session.governors.resize(2);
  const SessionEconomy economy(costs, parts, session, {.left = 100});
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
  EXPECT_NEAR(GainOf(1, economy, builder, scored, taken), 1 - 0.25 - 0.1, 0.01);
  EXPECT_NEAR(GainOf(1, economy, builder, scored, missed), -0.25 - 0.1, 0.01);
  EXPECT_NEAR(GainOf(0, economy, builder, scored, missed), -0.01 - 0.1, 0.01);
}

TEST(CostModel, SurvivesJson) {
  CostModel costs = Guessed();
  for (int i = 0; i < 3; ++i) costs.ObserveVerify(1, 10, Truth(1, 10));
  for (int i = 0; i < 3; ++i) costs.ObserveVerify(5, 10, Truth(5, 10));
  costs.answers().Observe(30, false);
  costs.Drafter("pld").Observe(0, 0, 0.125);
  costs.Drafter("pld").ObserveFailure();
  costs.Drafter("model").Observe(2, 100, 0.5);
  costs.Drafter("model").ObserveGain(-5);
  const Json json = costs.ToJson();
  CostModel again = Guessed();
  ASSERT_TRUE(again.Restore(json, "x").ok());
  EXPECT_EQ(again.ToJson().dump(), json.dump());
  EXPECT_NEAR(again.VerifySeconds(3, 7) / again.VerifySeconds(1, 7),
              costs.VerifySeconds(3, 7) / costs.VerifySeconds(1, 7), 1e-9);
  const auto damage = [&json](const char* key, Json value) {
    Json bad = json;
    bad[key] = std::move(value);
    return bad;
  };
  for (const Json& bad :
       {Json::array(), Json::object(), damage("plain", {0, 1}), damage("plain", "x"),
        damage("most_rows", 1.5), damage("curve", 1), damage("curve", {{7000, {1, 1}}}),
        damage("answer", -1), damage("drafters", {{"a", {1, 1}}})}) {
    const Status read = Guessed().Restore(bad, "x");
    ASSERT_FALSE(read.ok()) << bad.dump();
    EXPECT_THAT(read.error().message, HasSubstr("x: not a table of costs"));
  }
}

// While several texts share passes, there may be no one-row pass for long.
TEST(CostModel, LearnsTheOneRowTimeFromLargerPasses) {
  CostModel costs = Guessed();
  for (int i = 0; i < 4; ++i) costs.ObserveVerify(4, 0, 0.012);
  ASSERT_TRUE(costs.has_plain_pass());
  EXPECT_NEAR(costs.VerifySeconds(1, 0), 0.010, 0.001);
}

TEST(CostModel, GuessesByTheModel) {
  const auto backend = *NewBackend("cpu", {.threads = 1});
  const auto model = *NewRandomModel(*ShapeByName("tiny"), DType::kF32, 1, *backend);
  const CostModel costs = CostModel::Guess(*model);
  EXPECT_FALSE(costs.has_plain_pass());
  EXPECT_GT(costs.VerifySeconds(1, 0), 0);
  EXPECT_GT(costs.VerifySeconds(32, 0), costs.VerifySeconds(1, 0));
  EXPECT_LT(costs.VerifySeconds(32, 0), 33 * costs.VerifySeconds(1, 0));
  EXPECT_GT(costs.VerifySeconds(1, 500), costs.VerifySeconds(1, 0));
}

// A drafter that loses time is put to rest, and tried again as long as the exploration budget
// lasts.
TEST(Governor, RestsWhatLosesAndTriesItAgain) {
  constexpr double kAllowed = 1.2;
  Governor loser;
  EXPECT_LE(loser.Stake(kAllowed), 0.7);
  int tried = 0;
  while (!loser.resting()) {
    ASSERT_LT(++tried, 10);
    loser.Observe(-0.25, 0, 0.25, kAllowed);
  }
  EXPECT_LE(loser.lost(), 0.8) << "leaves budget for another try";
  EXPECT_FALSE(loser.IsProbing(0.25, kAllowed));
  for (int cycle = 0; cycle < 40; ++cycle) loser.ObserveIdle(std::nullopt, 0);
  EXPECT_TRUE(loser.IsProbing(0.25, kAllowed));
  EXPECT_FALSE(loser.IsProbing(0.9, kAllowed)) << "exceeds the budget left";
  loser.Observe(-0.25, 0, 0.25, kAllowed);
  EXPECT_TRUE(loser.resting());
  EXPECT_FALSE(loser.IsProbing(0.25, kAllowed)) << "not at once";
  for (int cycle = 0; cycle < 40; ++cycle) loser.ObserveIdle(std::nullopt, 0);
  EXPECT_FALSE(loser.IsProbing(0.5, kAllowed)) << "exceeds the allowed budget";
  loser.Observe(0.6, 0, 0.25, kAllowed);
  EXPECT_FALSE(loser.resting()) << "a successful probe ends the rest";
}

TEST(Governor, GuessesThatComeTrueEndARest) {
  Governor right;
  right.Observe(-5, 0, 0.1, 1.2);
  for (int cycle = 0; cycle < 3; ++cycle) {
    EXPECT_TRUE(right.resting());
    right.ObserveIdle(true, 0);
  }
  EXPECT_FALSE(right.resting());
  Governor mixed;
  mixed.Observe(-5, 0, 0.1, 1.2);
  for (int cycle = 0; cycle < 100; ++cycle) mixed.ObserveIdle(cycle % 4 == 0, 0);
  EXPECT_TRUE(mixed.resting()) << "one in four is not enough";
}

TEST(Governor, EarlierGainsMayBeLost) {
  Governor winner;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    winner.Observe(cycle % 5 == 0 ? 2.5 : -0.5, 0, 0.3, 1.2);
    EXPECT_FALSE(winner.resting());
  }
  for (int cycle = 0; cycle < 12; ++cycle) winner.Observe(-0.5, 0, 0.3, 1.2);
  EXPECT_TRUE(winner.resting()) << "old gains are used up";
  Governor credited(/*credit=*/3);
  for (int cycle = 0; cycle < 5; ++cycle) credited.Observe(-0.5, 0, 0.3, 1.2);
  EXPECT_FALSE(credited.resting()) << "gains of other texts";
  EXPECT_TRUE(Governor(0, /*trust=*/0.2).resting()) << "losses of other texts";
}

TEST(CostStore, KeepsCostsInTheCacheFolder) {
  const std::string folder = ::testing::TempDir() + "foretoken_cost_test";
  std::filesystem::remove_all(folder);
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const auto backend = *NewBackend("cpu", {.threads = 1});
  const auto model = *NewRandomModel(*ShapeByName("tiny"), DType::kF32, 1, *backend);
  const std::string path = CostPath(CostKey(*model));
  EXPECT_THAT(path, HasSubstr(folder));
  EXPECT_THAT(ReadCosts(path, *model).error().message, HasSubstr(path));
  { EXPECT_FALSE(CostStore(*model).Get()->has_plain_pass()); }
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing was timed";
  {
    CostStore store(*model);
    for (int i = 0; i < 3; ++i) store.Get()->ObserveVerify(1, 0, 1.5);
  }
  EXPECT_NEAR(ReadCosts(path, *model)->VerifySeconds(1, 0), 1.5, 1e-4);
  const auto other = *NewRandomModel(*ShapeByName("tiny"), DType::kF16, 1, *backend);
  EXPECT_THAT(ReadCosts(path, *other).error().message, HasSubstr("costs of something else"));
  { EXPECT_NEAR(CostStore(*model).Get()->VerifySeconds(1, 0), 1.5, 1e-4); }
  std::ofstream(path) << "{";
  { EXPECT_FALSE(CostStore(*model).Get()->has_plain_pass()) << "a broken file is ignored"; }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace foretoken
