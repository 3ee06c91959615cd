// Tests of runs with a time budget: plans, learning rates and continuation.
#include "budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "forecast.h"
#include "run_testing.h"

namespace foretoken::train {
namespace {

struct SimulatedRun {
  RunState state;
  std::vector<double> progress, rates;
  int evaluations = 0;
};

// Simulates a run whose steps take `pace(step)` seconds and whose evaluations take `evaluation`.
// `begin`: its first state.
template <typename Pace>
SimulatedRun Simulate(const Recipe& recipe, Pace pace, double evaluation,
                      const RunState& begin = {}) {
  SimulatedRun run;
  run.state = begin;
  RunState& s = run.state;
  while (ProgressOf(recipe, s) < 1.0) {
    run.rates.push_back(NextRate(recipe, s));
    ++s.step;
    s.seconds += pace(s.step);
    if (EvaluationDue(recipe, s)) {
      ++run.evaluations;
      s.evaluation = evaluation;
      s.evaluating += evaluation;
      s.seconds += evaluation;
    }
    PlanForBudget(recipe, 8, {}, s);
    run.progress.push_back(ProgressOf(recipe, s));
  }
  return run;
}

Recipe BudgetRecipe(double budget) {
  Recipe recipe;
  recipe.budget = budget;
  recipe.eval_every = 100;
  recipe.lr = 1.0;
  recipe.min_lr = 0.02;
  return recipe;
}

// A target that reads documents slows the steps of the first epoch only.
TEST(BudgetTest, StepsTakeLongerWhileTheTargetReads) {
  const ReadingLeft in_turns{.steps = 100, .seconds = 200}, ahead{100, 200, true},
      fast{100, 20, true};
  EXPECT_DOUBLE_EQ(SecondsFor(1000, 0.5, {}), 500.0);
  EXPECT_DOUBLE_EQ(SecondsFor(1000, 0.5, in_turns), 700.0);
  EXPECT_DOUBLE_EQ(SecondsFor(50, 0.5, in_turns), 125.0);
  EXPECT_DOUBLE_EQ(SecondsFor(1000, 0.5, ahead), 650.0);  // 200 s for the first 100 steps
  EXPECT_DOUBLE_EQ(SecondsFor(1000, 0.5, fast), 500.0);
  for (const ReadingLeft& reading : {ReadingLeft(), in_turns, ahead, fast}) {
    for (const double steps : {30.0, 100.0, 700.0}) {
      EXPECT_NEAR(StepsWithin(SecondsFor(steps, 0.5, reading), 0.5, reading), steps, 1e-9);
    }
  }
}

// At the end of a run no time may be left for its last evaluation.
TEST(BudgetTest, PlansWithoutTimeLeft) {
  EXPECT_EQ(StepsWithin(-0.2, 0.5, {}), 0.0);
  EXPECT_EQ(StepsWithin(0.0, 0.5, {}), 0.0);
  const Recipe recipe = BudgetRecipe(100.0);
  RunState s;
  s.step = 60;
  s.seconds = 99.9;
  s.evaluation = 1.0;
  s.plan = {.from = 50, .end = 61, .progress = 0.9};
  PlanForBudget(recipe, 8, {}, s);
  EXPECT_EQ(s.plan.from, 60);
  EXPECT_EQ(s.plan.end, 61);
}

TEST(BudgetTest, PlansForTheStepsAfterTheReading) {
  const Recipe recipe = BudgetRecipe(1000.0);
  RunState s;
  s.step = 1;
  s.seconds = 2.0;
  PlanForBudget(recipe, 8, {}, s);
  s.step = 51;
  s.seconds = 2.0 + 50 * 2.0;  // half a second of training a step
  s.waiting = 50 * 1.5;
  EXPECT_TRUE(PlanForBudget(recipe, 1, {.steps = 100, .seconds = 200, .is_ahead = true}, s));
  // 818 s are left without 80 for the work after training: 200 for 100 steps, then 2 steps a
  // second, less an evaluation of half a second or more.
  EXPECT_NEAR(static_cast<double>(s.plan.end), 51 + 100 + 2 * (1000 - 102 - 80 - 200), 40);
  EXPECT_NEAR(s.plan.progress, 51.0 / static_cast<double>(s.plan.end), 1e-12);
}

TEST(BudgetTest, KeepsTheBudgetAndReachesTheScheduleEnd) {
  const double kFirstStep = 3.0;  // slower than the others
  const auto steady = [&](int64_t step) { return step == 1 ? kFirstStep : 0.5; };
  const auto slows_down = [&](int64_t step) { return step > 200 ? 1.0 : 0.5; };
  const auto speeds_up = [&](int64_t step) { return step > 60 ? 0.25 : 0.5; };
  const Recipe recipe = BudgetRecipe(300.0);
  const double training = 300.0 - SecondsAfterTraining(recipe);
  EXPECT_DOUBLE_EQ(SecondsAfterTraining(recipe), 24.0);
  for (const SimulatedRun& run : {Simulate(recipe, steady, 4.0), Simulate(recipe, slows_down, 4.0),
                                  Simulate(recipe, speeds_up, 4.0)}) {
    EXPECT_NEAR(run.state.seconds, training, 0.03 * 300.0);
    EXPECT_EQ(run.evaluations, 4);  // evaluations get 6 % of the budget
    EXPECT_TRUE(std::ranges::is_sorted(run.progress));
    EXPECT_EQ(run.progress.back(), 1.0);
    EXPECT_NEAR(run.rates.front(), 0.1, 0.01);  // warm-up
    EXPECT_GT(*std::ranges::max_element(run.rates), 0.98);
    EXPECT_NEAR(run.rates.back(), 0.02, 0.01);
    for (size_t i = 1; i < run.progress.size(); ++i) {  // replanning makes no jumps
      EXPECT_LT(run.progress[i] - run.progress[i - 1], 0.03) << i;
    }
  }
}

// A run that is resumed with another budget uses the rest of it, with a schedule for all steps.
TEST(BudgetTest, AnotherBudgetIsPlannedAgain) {
  const auto steady = [](int64_t) { return 0.5; };
  const Recipe recipe = BudgetRecipe(300.0), longer = BudgetRecipe(900.0),
               shorter = BudgetRecipe(290.0);
  const SimulatedRun first = Simulate(recipe, steady, 4.0);
  const CheckpointInfo kept{recipe, first.state, ""};
  EXPECT_EQ(ProgressOf(recipe, ResumedState(recipe, kept)), 1.0);
  EXPECT_EQ(ProgressOf(shorter, ResumedState(shorter, kept)), 1.0);
  EXPECT_EQ(std::string(LengthField(shorter, first.state)), "budget");

  const RunState resumed = ResumedState(longer, kept);
  EXPECT_NEAR(ProgressOf(longer, resumed), 276.0 / 828.0, 0.01);
  const SimulatedRun second = Simulate(longer, steady, 4.0, resumed);
  EXPECT_NEAR(second.state.seconds, 828.0, 0.03 * 900.0);
  EXPECT_NEAR(static_cast<double>(second.state.step), 3.0 * static_cast<double>(first.state.step),
              0.1 * static_cast<double>(second.state.step));
  EXPECT_TRUE(std::ranges::is_sorted(second.progress));
  EXPECT_EQ(second.progress.back(), 1.0);
  EXPECT_NEAR(second.rates.front(), 0.75, 0.02);  // after a third of the cosine
  EXPECT_NEAR(second.rates.back(), 0.02, 0.01);

  // After six steps the warm-up is not over.
  const CheckpointInfo short_run{BudgetRecipe(5.0), {.step = 6, .seconds = 4.6}, ""};
  const Recipe minute = BudgetRecipe(60.0);
  EXPECT_NEAR(NextRate(minute, ResumedState(minute, short_run)), 0.1, 0.01);

  // A run that began with a number of steps may get a budget, and the reverse.
  Recipe steps = recipe;
  steps.budget = 0.0;
  steps.steps = 10'000;
  const CheckpointInfo of_steps{steps, {.step = 5'000, .seconds = 100.0}, ""};
  EXPECT_NEAR(ProgressOf(recipe, ResumedState(recipe, of_steps)), 100.0 / 276.0, 1e-9);
  EXPECT_EQ(ResumedState(steps, kept).plan.eval_batches, 0);
}

// A budget that is shorter than the trial ends the run after a few steps.
TEST(BudgetTest, BudgetShorterThanATrialEndsSoon) {
  const SimulatedRun run = Simulate(
      BudgetRecipe(3.0), [](int64_t) { return 2.0; }, 1.0);
  EXPECT_LE(run.state.step, 6);
  EXPECT_EQ(run.progress.back(), 1.0);
}

// A plan limits evaluations to the batches that fit: all of them would take a third of the budget.
TEST(BudgetTest, EvaluationsAreLimitedToBatchesThatFit) {
  const SimulatedRun run = Simulate(
      BudgetRecipe(100.0), [](int64_t) { return 4.0; }, 4.0);
  EXPECT_EQ(run.state.plan.eval_batches, 1);
  const SimulatedRun quick = Simulate(
      BudgetRecipe(100.0), [](int64_t) { return 0.1; }, 0.8);
  EXPECT_EQ(quick.state.plan.eval_batches, 8);
}

// With eval_every = 0, a run with a budget has no evaluations.
TEST(BudgetTest, NeverEvaluatesWithoutEvalEvery) {
  Recipe recipe = BudgetRecipe(100.0);
  recipe.eval_every = 0;
  const SimulatedRun run = Simulate(
      recipe, [](int64_t) { return 0.5; }, 1.0);
  EXPECT_EQ(run.evaluations, 0);
  EXPECT_NEAR(run.state.seconds, 92.0, 1.0);
}

// A clock that advances by a second with each reading; reading number `stop_at` raises SIGINT.
std::function<double()> TickingClock(int64_t stop_at) {
  return [readings = int64_t{0}, stop_at]() mutable {
    if (++readings == stop_at) raise(SIGINT);
    return static_cast<double>(readings);
  };
}

TEST_F(RunTest, RunWithABudgetResumesBitForBit) {
  TrainOptions uninterrupted = TinyRun(directory_, directory_ + "/uninterrupted");
  uninterrupted.recipe.budget = 80.0;  // ticks of the clock; a step takes one tick
  uninterrupted.clock = TickingClock(0);
  const Status trained = Train(uninterrupted);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const auto info = ReadCheckpointInfo(uninterrupted.out);
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_EQ(info->state.plan.end, info->state.step);
  EXPECT_NEAR(info->state.seconds, 73.6, 4.0);
  const auto losses = Losses(uninterrupted.out);
  ASSERT_GT(losses.size(), 60u);

  TrainOptions stopped = uninterrupted;
  stopped.out = directory_ + "/stopped";
  // Interrupted in the trial, then after the plan was made, then not at all.
  for (const int64_t stop_at : {5, 70, 0}) {
    stopped.clock = TickingClock(stop_at);
    const Status resumed = Train(stopped);
    ASSERT_TRUE(resumed.ok()) << resumed.error().message;
    if (stop_at != 0) {
      EXPECT_LT(Losses(stopped.out).size(), losses.size());
    }
  }
  EXPECT_EQ(Losses(stopped.out), losses);
  ExpectSameTensors(uninterrupted.out, stopped.out, 3 * (2 + 2 * 9));

  stopped.recipe.budget = 90.0;
  const Status changed = Train(stopped);
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message, testing::HasSubstr("budget was 1m20s, now 1m30s"));
}

// A finished run continues with a longer budget only, and records the budget only then.
TEST_F(RunTest, FinishedRunContinuesWithALongerBudget) {
  TrainOptions run = TinyRun(directory_, directory_ + "/run");
  const auto train = [&](double budget, const std::vector<std::string>& changes) {
    run.recipe.budget = budget;
    run.changes = changes;
    run.clock = TickingClock(0);
    const Status trained = Train(run);
    return trained.ok() ? "none" : trained.error().message;
  };
  EXPECT_EQ(train(40.0, {}), "none");
  const auto first = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_THAT(train(30.0, {"budget"}),
              testing::HasSubstr("--budget 30s allows no more, so nothing was changed"));
  EXPECT_EQ(ReadCheckpointInfo(run.out)->begun, first->begun);
  EXPECT_EQ(train(40.0, {}), "none");
  EXPECT_EQ(train(120.0, {"budget"}), "none");
  const auto second = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_GT(second->state.step, 2 * first->state.step);
  EXPECT_EQ(second->state.plan.end, second->state.step);
  EXPECT_NEAR(second->state.seconds, 120.0 - SecondsAfterTraining(second->recipe), 6.0);
  EXPECT_EQ(Losses(run.out).size(), static_cast<size_t>(second->state.step));
  EXPECT_EQ(train(120.0, {}), "none");
  EXPECT_THAT(train(40.0, {}), testing::HasSubstr("budget was 2m, now 40s"));
}

// The time left of a run with a budget is known during its trial.
TEST(ForecastTest, BudgetLeavesTheRestOfItsTime) {
  const Recipe recipe = BudgetRecipe(300.0);
  const RunState state{.step = 3, .seconds = 138.0};
  EXPECT_DOUBLE_EQ(SecondsLeft(recipe, {}, state), 138.0);
  EXPECT_DOUBLE_EQ(BudgetUsed(recipe, state), 0.5);
}

}  // namespace
}  // namespace foretoken::train
