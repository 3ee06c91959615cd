// Tests of runs with a time budget: plans, learning rates, defaults and exact continuation.
#include "budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "data_ranking.h"
#include "draft_defaults.h"
#include "draft_result.h"
#include "forecast.h"
#include "own_answers.h"
#include "run_record.h"
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

// Fields that are not named get the method's defaults; named fields keep their values.
TEST_F(RunTest, UnnamedFieldsGetTheMethodsDefaults) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  std::ofstream(directory_ + "/chat.jsonl") << std::string(1280, '\n');  // only lines are counted
  const auto filled = [&](const DraftDefaults& defaults, const std::set<std::string>& named,
                          bool on_gpu = false) {
    Recipe recipe;
    recipe.method = "hass";
    recipe.lr = 7.0;
    recipe.steps = 7;
    recipe.settings["target"] = directory_ + "/target.gguf";
    recipe.data = {{"chat.jsonl", 1.0}};
    FillDraftDefaults(defaults, named, directory_, on_gpu, recipe);
    return recipe;
  };
  const Recipe hass = filled(FindMethod("hass")->defaults, {});
  EXPECT_EQ(hass.name, "foretoken-lm-hass");  // the target has the default name
  EXPECT_DOUBLE_EQ(hass.lr, 0.00049);         // 0.0015 * (128 / 2048)^0.4
  EXPECT_DOUBLE_EQ(hass.min_lr, 0.02 * 0.00049);
  EXPECT_DOUBLE_EQ(hass.weight_decay, 0.0);
  EXPECT_TRUE(hass.mask_user);
  EXPECT_EQ(hass.steps, 12'000);
  EXPECT_DOUBLE_EQ(hass.warmup_share, 0.05);
  EXPECT_EQ(hass.length * hass.batch, 128);
  EXPECT_EQ(hass.target_length, 1024);
  EXPECT_EQ(hass.feature_cache, int64_t{8} << 30);
  EXPECT_EQ(hass.length * hass.eval_sequences, 16'384);
  EXPECT_DOUBLE_EQ(hass.heldout, 0.05);
  EXPECT_FALSE(filled(FindMethod("glide")->defaults, {}).mask_user);
  EXPECT_EQ(filled(FindMethod("medusa")->defaults, {}).Text("shared_output"), "1");

  const Recipe named = filled(FindMethod("hass")->defaults, {"lr", "steps", "warmup", "heldout"});
  EXPECT_DOUBLE_EQ(named.lr, 7.0);
  EXPECT_DOUBLE_EQ(named.min_lr, 0.14);
  EXPECT_EQ(named.steps, 7);
  EXPECT_EQ(named.warmup, 100);
  EXPECT_DOUBLE_EQ(named.warmup_share, 0.0);
  EXPECT_DOUBLE_EQ(named.heldout, 0.005);

  const Recipe gpu = filled(FindMethod("hass")->defaults, {}, /*on_gpu=*/true);
  EXPECT_DOUBLE_EQ(gpu.lr, 0.0015);
  EXPECT_EQ(gpu.steps, 2000);
  EXPECT_EQ(gpu.length * gpu.batch, 2048);
  EXPECT_EQ(gpu.target_length, 0);
  EXPECT_EQ(gpu.feature_cache, 0);
  EXPECT_EQ(gpu.length * gpu.eval_sequences, 16'384);

  // Four sequences of 1,024 tokens a step: the recipe's own values.
  const Recipe large = filled(FindMethod("hass")->defaults, {"length", "batch"});
  EXPECT_EQ(large.length * large.batch, 4096);
  EXPECT_DOUBLE_EQ(large.lr, 0.0015);
  EXPECT_EQ(large.steps, 12'000 * 128 / 4096);
  EXPECT_EQ(large.target_length, 0);
  EXPECT_EQ(large.eval_sequences, 16);

  const Recipe lm = filled(FindMethod("lm")->defaults, {});
  EXPECT_EQ(lm.name, "foretoken-lm");
  EXPECT_DOUBLE_EQ(lm.lr, 7.0);
}

// Losses score 8,192 tokens of a target that has more than 16,384, on a CPU.
TEST_F(RunTest, LossesScorePartOfALargeVocabulary) {
  const auto scored = [&](const char* method, size_t vocab, const std::set<std::string>& named,
                          bool on_gpu = false) {
    TokenizerData tokenizer;
    for (size_t i = 0; i < vocab; ++i) tokenizer.tokens.push_back("t" + std::to_string(i));
    tokenizer.types.assign(vocab, TokenType::kNormal);
    GgufWriter writer;
    writer.SetString("general.architecture", "llama");
    WriteTokenizer(tokenizer, writer);
    EXPECT_TRUE(writer.Write(directory_ + "/target.gguf").ok());
    Recipe recipe;
    recipe.method = method;
    recipe.settings["target"] = directory_ + "/target.gguf";
    recipe.settings["scored_tokens"] = "7";
    FillDraftDefaults(FindMethod(method)->defaults, named, directory_, on_gpu, recipe);
    return recipe.Text("scored_tokens");
  };
  EXPECT_EQ(scored("hass", 16'384, {}), "7");
  EXPECT_EQ(scored("hass", 16'385, {}), "8192");
  EXPECT_EQ(scored("eagle", 16'385, {}), "8192");
  EXPECT_EQ(scored("medusa", 16'385, {}), "8192");
  EXPECT_EQ(scored("glide", 16'385, {}), "7");  // it has no such setting
  EXPECT_EQ(scored("hass", 16'385, {"scored_tokens"}), "7");
  EXPECT_EQ(scored("hass", 16'385, {}, /*on_gpu=*/true), "7");
}

// A resumed run keeps its compute type and, if it trains a draft, the size and the rates of its
// steps. Their defaults depend on the device, the CPU and the number of workers, which may change
// during a run.
TEST_F(RunTest, ResumedRunKeepsMachineDependentDefaults) {
  TrainOptions run = TinyRun(directory_, directory_ + "/run");
  run.recipe.steps = 2;
  run.recipe.dtype = "f32";
  const Status trained = Train(run);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const auto kept = [&](const char* method, const std::set<std::string>& named,
                        const std::string& out) {
    Recipe recipe;
    KeepMachineDefaults(FindMethod(method)->defaults, named, out, recipe);
    return recipe;
  };
  const Recipe none = kept("hass", {}, directory_ + "/none");
  EXPECT_EQ(none.accumulate, 1);
  EXPECT_EQ(none.length, 1024);
  const Recipe named = kept("hass", {"accumulate", "dtype", "lr", "length"}, run.out);
  EXPECT_EQ(named.accumulate, 1);
  EXPECT_EQ(named.dtype, "bf16");
  EXPECT_EQ(named.length, 1024);
  EXPECT_DOUBLE_EQ(named.lr, Recipe().lr);
  EXPECT_DOUBLE_EQ(named.min_lr, Recipe().min_lr);  // it follows from lr
  const Recipe draft = kept("hass", {}, run.out);
  EXPECT_EQ(draft.accumulate, 2);
  EXPECT_EQ(draft.dtype, "f32");
  EXPECT_EQ(draft.length, run.recipe.length);
  EXPECT_EQ(draft.batch, run.recipe.batch);
  EXPECT_DOUBLE_EQ(draft.heldout, run.recipe.heldout);  // follows from the data
  EXPECT_EQ(draft.steps, 2);
  EXPECT_DOUBLE_EQ(draft.lr, run.recipe.lr);
  EXPECT_DOUBLE_EQ(draft.min_lr, run.recipe.min_lr);
  EXPECT_FALSE(draft.settings.contains("scored_tokens"));  // a language model has none
  const Recipe model = kept("lm", {}, run.out);
  EXPECT_EQ(model.dtype, "f32");
  EXPECT_EQ(model.accumulate, 1);

  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions hass = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  hass.recipe.settings["scored_tokens"] = "5";
  hass.recipe.min_lr = 1e-5;
  hass.recipe.steps = 1;
  const Status drafted = Train(hass);
  ASSERT_TRUE(drafted.ok()) << drafted.error().message;
  EXPECT_EQ(kept("hass", {}, hass.out).Text("scored_tokens"), "5");
  EXPECT_EQ(kept("hass", {}, hass.out).Text("start"), "random");
  // A min_lr that someone chose does not follow lr.
  EXPECT_DOUBLE_EQ(kept("hass", {"lr"}, hass.out).min_lr, 1e-5);
  EXPECT_DOUBLE_EQ(kept("hass", {"lr", "min_lr"}, hass.out).min_lr, Recipe().min_lr);
  EXPECT_FALSE(kept("hass", {"scored_tokens"}, hass.out).settings.contains("scored_tokens"));
}

const OwnAnswers kAnswers{1.75, 24, {0.5f, 0.25f}};

// A draft file contains the measurement of its own checkpoint, but not that of an earlier one.
TEST_F(RunTest, DraftHoldsTheAcceptanceOfItsOwnCheckpoint) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto unmeasured = TrainDraft(run).file;
  ASSERT_NE(unmeasured, nullptr);
  const auto info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(info.ok()) << info.error().message;
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, *info).ok());
  const auto measured = TrainDraft(run).file;
  ASSERT_NE(measured, nullptr);
  EXPECT_THAT(measured->info().acceptance, testing::ElementsAre(0.5f, 0.25f));
  const auto record = ParseJson(measured->info().recipe, "recipe");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ((*record)["trained"]["tau"], 1.75);
  EXPECT_TRUE((*record)["trained"].contains("teacher_forced_tau"));
  CheckpointInfo earlier = *info;
  earlier.state.step = 1;
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, earlier).ok());
  const auto with_earlier_answers = TrainDraft(run).file;
  ASSERT_NE(with_earlier_answers, nullptr);
  EXPECT_EQ(with_earlier_answers->info().acceptance, unmeasured->info().acceptance);
}

// A draft file contains the ranking of the target's tokens in the run's data: tokens with a loss
// first, by their number, then the others.
TEST_F(RunTest, DraftHoldsTheRankingOfItsData) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto trained = TrainDraft(run).file;
  ASSERT_NE(trained, nullptr);
  const TokenRanking& of_data = trained->info().ranking;
  EXPECT_EQ(of_data.tokens.size(), static_cast<size_t>(trained->info().target.vocab));

  const auto target = ModelFile::Open(directory_ + "/target.gguf");
  ASSERT_TRUE(target.ok()) << target.error().message;
  const Corpus corpus{{9, 5, 7, 5, 3, 7, 7, 9}, {0, 1, 0, 1, 1, 0, 0, 0}, {{0, 5}, {5, 3}}};
  const TokenRanking ranking = RankData(corpus, (*target)->config().vocab);
  ASSERT_TRUE(WriteDataRanking(ranking, **target, run.out).ok());
  const auto written = ReadRanking(DataRankingPath(run.out));
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_THAT(
      std::vector<Token>(written->ranking.tokens.begin(), written->ranking.tokens.begin() + 6),
      testing::ElementsAre(5, 3, 7, 9, 0, 1));
}

// A run that starts over removes the acceptance measured for the draft that it replaces.
TEST_F(RunTest, StartingOverRemovesTheOldAcceptance) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto old_draft = TrainDraft(run).file;
  ASSERT_NE(old_draft, nullptr);
  const auto old_info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(old_info.ok()) << old_info.error().message;
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, *old_info).ok());
  ASSERT_TRUE(ReadOwnAnswers(run.out, *old_info));
  run.recipe.seed = 2;
  run.force = true;
  const auto new_draft = TrainDraft(run).file;
  ASSERT_NE(new_draft, nullptr);
  EXPECT_FALSE(fs::exists(OwnAnswersPath(run.out)));
  EXPECT_THAT(new_draft->info().acceptance, testing::Ne(std::vector<float>{0.5f, 0.25f}));
  const auto new_info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(new_info.ok()) << new_info.error().message;
  EXPECT_EQ(new_info->state.step, old_info->state.step);
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, *old_info).ok());  // left over from the old run
  EXPECT_FALSE(ReadOwnAnswers(run.out, *new_info));
}

// The draft file of a finished run is overwritten only after further training, because the user may
// have replaced it, for example by a file of another type.
TEST_F(RunTest, DraftFileIsReplacedOnlyAfterFurtherTraining) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto draft_after_run = [&run] {
    const int64_t before = StepsBefore(run);
    const Status trained = Train(run);
    EXPECT_TRUE(trained.ok()) << trained.error().message;
    const Status finished = FinishDraft(*FindMethod("hass"), run, before);
    EXPECT_TRUE(finished.ok()) << finished.error().message;
    std::ifstream file(MeasuredDraftPath(run.out), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_EQ(StepsBefore(run), -1);
  EXPECT_THAT(draft_after_run(), testing::StartsWith("GGUF"));
  EXPECT_EQ(StepsBefore(run), 2);
  std::ofstream(MeasuredDraftPath(run.out)) << "another";
  EXPECT_EQ(draft_after_run(), "another");
  run.recipe.steps = 3;
  run.changes = {"steps"};
  EXPECT_THAT(draft_after_run(), testing::StartsWith("GGUF"));
}

// The last lines of a run name commands that can be copied, and say if tau is rough.
TEST_F(RunTest, ResultNamesCommands) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  fs::create_directories(directory_ + "/models");
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/models/../draft/", "hass");
  run.recipe.steps = 2;
  run.recipe.name = "my draft/1";
  run.recipe.settings["target"] = directory_ + "/models/../target.gguf";
  ASSERT_NE(TrainDraft(run).file, nullptr);
  const auto info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(info.ok()) << info.error().message;
  run.quiet = false;
  const auto result = [&](int64_t questions) {
    EXPECT_TRUE(WriteOwnAnswers({1.75, questions, {0.5f}}, run.out, *info).ok());
    testing::internal::CaptureStderr();
    EXPECT_TRUE(FinishDraft(*FindMethod("hass"), run, /*steps_before=*/2).ok());
    return testing::internal::GetCapturedStderr();
  };
  const std::string target = directory_ + "/target.gguf", draft = directory_ + "/draft/draft.gguf",
                    drafts = directory_ + "/drafts";
  const std::string text = result(12);
  EXPECT_THAT(text, testing::HasSubstr("12 held-out questions\ndraft: " + draft + "\n"));
  EXPECT_THAT(text, testing::HasSubstr(" -m " + target + " --draft " + draft));
  EXPECT_THAT(text, testing::HasSubstr("--methods pld+h,hass,auto -n 128\n"));
  EXPECT_THAT(text, testing::HasSubstr("  mkdir -p " + drafts + " && cp " + draft + " " + drafts +
                                       "/my-draft-1.gguf\n"));
  EXPECT_THAT(result(11), testing::HasSubstr("11 held-out questions; few, so tau is rough\n"));
}

// A run's key depends neither on its name nor on the target's path.
TEST(OwnAnswersTest, RunKeyIgnoresNameAndTargetPath) {
  const std::string run = R"({"recipe":{"name":"a","seed":1,"settings":{"target":"x"}},"data":[]})",
                    moved =
                        R"({"recipe":{"name":"b","seed":1,"settings":{"target":"y"}},"data":[]})",
                    other =
                        R"({"recipe":{"name":"a","seed":2,"settings":{"target":"x"}},"data":[]})";
  EXPECT_EQ(RunKey(run), RunKey(moved));
  EXPECT_NE(RunKey(run), RunKey(other));
}

TEST(OwnAnswersTest, HeldOutConversationsBecomeQuestions) {
  std::string run = testing::TempDir() + "answers_XXXXXX";
  ASSERT_NE(mkdtemp(run.data()), nullptr);
  const TextDocument text{{{"", "no conversation"}}}, unanswered{{{"user", "and then?"}}},
      answered{{{"system", "be brief"}, {"user", "why?"}, {"assistant", "so"}, {"user", "oh"}}};
  const std::vector<const TextDocument*> documents = {&text, &unanswered, &answered};
  ASSERT_TRUE(WriteHeldOutQuestions(documents, run).ok());
  std::ifstream file(HeldOutQuestionsPath(run));
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(written, R"({"question_id":0,"category":"heldout","turns":["why?"]})"
                     "\n");
  ASSERT_TRUE(WriteHeldOutQuestions(std::span(documents).first(2), run).ok());
  EXPECT_FALSE(fs::exists(HeldOutQuestionsPath(run)));
  fs::remove_all(run);
}

// The forecast interpolates between the points of the recorded run with the most similar steps and,
// among those, the target of the nearest width.
TEST(ForecastTest, UsesTheRecordedRunOfTheNearestWidth) {
  const auto at_point = RecordedTauOf("hass", 576, 8192, 4.23e6);
  ASSERT_TRUE(at_point);
  EXPECT_DOUBLE_EQ(at_point->tau, 2.18);
  EXPECT_EQ(at_point->target, "SmolLM2-135M");
  const auto between = RecordedTauOf("hass", 100, 2048, std::sqrt(0.58e6 * 1.16e6));
  ASSERT_TRUE(between);
  EXPECT_NEAR(between->tau, (2.04 + 3.09) / 2, 1e-9);
  EXPECT_EQ(between->target, "foretoken-demo-24m");
  EXPECT_DOUBLE_EQ(RecordedTauOf("hass", 512, 2048, 0.0)->tau, 1.0);
  EXPECT_TRUE(RecordedTauOf("medusa", 4096, 2048, 1e9)->is_past_record);
  EXPECT_FALSE(RecordedTauOf("lm", 512, 2048, 1e6));
  EXPECT_NEAR(*RecordedTokensTo("hass", 512, 2048, 2.04), 0.58e6, 1.0);
  EXPECT_FALSE(RecordedTokensTo("medusa", 512, 2048, 2.0));
}

// The recorded runs began with random weights.
TEST(ForecastTest, ExpectsNothingOfARunThatStartsFromTrainedWeights) {
  Recipe recipe;
  recipe.method = "hass";
  recipe.steps = 1000;
  const RunState state{.step = 10, .sequences = 10, .tokens = 900, .seconds = 1.0};
  EXPECT_THAT(DescribeForecast(recipe, Corpus(), {}, state), testing::HasSubstr("\nexpect: "));
  recipe.settings["target"] = "model.gguf";
  recipe.init = "runs/a";
  EXPECT_THAT(DescribeForecast(recipe, Corpus(), {}, state),
              testing::Not(testing::HasSubstr("expect: ")));
  EXPECT_THAT(DescribeForecast(recipe, Corpus(), {}, state),
              testing::HasSubstr("\ntau: tokens that a pass of the target yields"));
}

// The first line of a forecast has the rate and the size of a step, which defaults determine.
TEST(ForecastTest, NamesTheRateAndTheSizeOfAStep) {
  Recipe recipe;
  recipe.lr = 0.0004;
  recipe.length = 64;
  recipe.batch = 2;
  recipe.steps = 100;
  const RunState state{.step = 10, .sequences = 20, .tokens = 900, .seconds = 1.0};
  const std::string text = DescribeForecast(recipe, Corpus(), {}, state);
  EXPECT_EQ(text,
            "estimate: 100 steps learn 9000 tokens, in 10s in all on this machine; "
            "learning rate 0.0004, 128 tokens a step");
}

// The time left of a run with a budget is known during its trial.
TEST(ForecastTest, BudgetLeavesTheRestOfItsTime) {
  const Recipe recipe = BudgetRecipe(300.0);
  const RunState state{.step = 3, .seconds = 138.0};
  EXPECT_DOUBLE_EQ(SecondsLeft(recipe, {}, state), 138.0);
  EXPECT_DOUBLE_EQ(BudgetUsed(recipe, state), 0.5);
}

// 900 tokens in 10 steps: 1,000 steps read a document of 5,000 tokens 18 times, of 50,000 twice.
TEST(ForecastTest, AsksForMoreDataIfARunReadsThemOften) {
  Recipe recipe;
  recipe.steps = 1000;
  recipe.data = {{"my.jsonl", 1.0}};
  const RunState state{.step = 10, .sequences = 10, .tokens = 900, .seconds = 1.0};
  Corpus corpus;
  const auto forecast = [&](int32_t tokens) {
    corpus.learn.assign(static_cast<size_t>(tokens), 1);
    corpus.documents = {{.first = 0, .length = tokens}};
    return DescribeForecast(recipe, corpus, {}, state);
  };
  EXPECT_THAT(forecast(5'000), testing::HasSubstr("\nfew data: "));
  EXPECT_THAT(forecast(50'000), testing::Not(testing::HasSubstr("few data: ")));
}

}  // namespace
}  // namespace foretoken::train
