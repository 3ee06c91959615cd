// Tests, on a simulated clock, that trying drafters has a bounded cost: from the first answer on,
// decoding with a drafter is never much slower than without one.
#include "engine/cost_observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/simulation_testing.h"

namespace foretoken {
namespace {

// The guess for a machine on which nothing has run yet.
CostModel Unknown() { return CostModel::Assume({{1, 1}, {4, 1.3}, {16, 2.5}, {64, 7}}, {}); }

double Allowed(int tokens) { return std::max(1.2, 0.01 * tokens); }

// Passes lost against autoregressive decoding, disturbances excluded.
double Lost(const SimulatedAnswer& answer) {
  return answer.passes - answer.disturbance - answer.tokens;
}

double Speed(const SimulatedAnswer& answer) {
  return answer.tokens / (answer.passes - answer.disturbance);
}

ScriptedDrafter Level(double hits, double level) {
  return {.hits = [hits](int) { return hits; },
          .level = level,
          .level_bytes = static_cast<size_t>(1000 * std::max(level - 0.02, 0.001))};
}
ScriptedDrafter Copier(double hits, double confidence) {
  return {
      .name = "copy", .hits = [hits](int) { return hits; }, .confidence = confidence, .run = 10};
}

class FirstAnswers : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Tokens, FirstAnswers, ::testing::Values(32, 64, 128, 512),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(FirstAnswers, AUselessDraftLosesLittle) {
  for (const double level : {0.02, 0.12, 0.25, 0.9}) {
    CostModel costs = Unknown();
    Simulation run(costs, {Level(0, level)});
    EXPECT_LE(Lost(run.Answer(GetParam())), Allowed(GetParam())) << level;
  }
}

TEST_P(FirstAnswers, AUselessCopyLosesLittle) {
  for (const double confidence : {0.4, 0.7, 0.93}) {
    CostModel costs = Unknown();
    Simulation run(costs, {Copier(0, confidence)});
    EXPECT_LE(Lost(run.Answer(GetParam())), Allowed(GetParam())) << confidence;
  }
}

TEST_P(FirstAnswers, ADraftThatCostsMoreThanItGivesLosesLittle) {
  CostModel costs = Unknown();
  Simulation run(costs, {Level(0.7, 0.9)});
  EXPECT_LE(Lost(run.Answer(GetParam())), Allowed(GetParam()));
}

// Two parts together may lose no more than a single part.
TEST_P(FirstAnswers, UselessPartsLoseNoMoreThanOne) {
  CostModel costs = Unknown();
  Simulation run(costs, {Copier(0, 0.7), Level(0, 0.12)});
  EXPECT_LE(Lost(run.Answer(GetParam())), Allowed(GetParam()));
}

// Reading the whole prompt would take 20 passes, more than the exploration budget.
TEST_P(FirstAnswers, ALongPromptIsNotReadToTryADraft) {
  ScriptedDrafter draft = Level(0, 0.12);
  draft.reading = 0.01;
  CostModel costs = Unknown();
  Simulation run(costs, {draft});
  run.prompt = 2000;
  EXPECT_LE(Lost(run.Answer(GetParam())), Allowed(GetParam()));
}

TEST(Observer, AUselessDraftIsTriedLessInLaterAnswers) {
  for (const int tokens : {32, 128}) {
    CostModel costs = Unknown();
    Simulation run(costs, {Level(0, 0.12)});
    double lost = 0;
    for (int i = 0; i < 40; ++i) lost += Lost(run.Answer(tokens));
    EXPECT_LE(lost, 40 * 0.007 * tokens) << tokens;
  }
}

// Mean speed over `answers` answers of 128 tokens. For a draft that is right with probability 0.8
// and levels that cost 0.12 passes, the best chain would reach 1.79: 3.36 tokens in 1.88 passes.
double MeanSpeed(Simulation& run, int answers) {
  double passes = 0;
  for (int i = 0; i < answers; ++i) {
    const SimulatedAnswer answer = run.Answer(128);
    passes += answer.passes - answer.disturbance;
  }
  return 128 * answers / passes;
}

TEST(Observer, AGoodDraftIsUsedAtOnce) {
  CostModel costs = Unknown();
  Simulation run(costs, {Level(0.8, 0.12)});
  const SimulatedAnswer first = run.Answer(128);
  EXPECT_GT(Speed(first), 1.5);
  EXPECT_EQ(first.nodes[0] + first.nodes[1], 0) << "the unit of costs is timed first";
  EXPECT_GT(first.nodes[2], 0);
  EXPECT_GT(MeanSpeed(run, 30), 1.7);
}

// A drafter that has long been gaining time is not put to rest by bad luck.
TEST(Observer, AModestDraftKeepsWhatItGains) {
  CostModel costs = Unknown();
  Simulation run(costs, {Level(0.55, 0.12)});
  EXPECT_GT(MeanSpeed(run, 60), 1.2) << "two levels: 1.85 tokens in 1.44 passes";
}

// Position at which drafting has become steady: where the fifth of five consecutive drafting
// cycles, all at or after `from`, begins. The length of the answer if there is none.
int SteadyFrom(const SimulatedAnswer& answer, int from) {
  int steady = 0;
  for (size_t c = 0; c < answer.nodes.size(); ++c) {
    if (answer.begin[c] < from) continue;
    steady = answer.nodes[c] > 0 ? steady + 1 : 0;
    if (steady == 5) return answer.begin[c];
  }
  return answer.tokens;
}

TEST(Observer, ADraftThatTurnsGoodComesBack) {
  for (const int turn : {20, 60, 100, 200}) {
    ScriptedDrafter draft = Level(0, 0.12);
    draft.hits = [turn](int at) { return at < turn ? 0.0 : 0.85; };
    CostModel costs = Unknown();
    Simulation run(costs, {draft});
    EXPECT_LE(SteadyFrom(run.Answer(512), turn), turn + 90) << turn;
  }
}

TEST(Observer, ADraftThatLostInOtherTextsComesBack) {
  double hits = 0;
  ScriptedDrafter draft = Level(0, 0.12);
  draft.hits = [&hits](int) { return hits; };
  CostModel costs = Unknown();
  Simulation run(costs, {draft});
  for (int i = 0; i < 20; ++i) run.Answer(128);
  hits = 0.85;
  for (int i = 0; i < 12; ++i) run.Answer(128);
  EXPECT_GT(MeanSpeed(run, 10), 1.65);
}

// One of the first passes or proposals takes 20 times its time.
TEST(Observer, ADisturbanceIsForgotten) {
  for (int at = 0; at < 12; ++at) {
    CostModel costs = Unknown();
    Simulation run(costs, {Level(0.8, 0.12)});
    run.disturb = [at](int event) { return event == at ? 20.0 : 1.0; };
    EXPECT_LE(Lost(run.Answer(128)), Allowed(128)) << at;
    EXPECT_GT(MeanSpeed(run, 10), 1.65) << at;
  }
}

TEST(Observer, ADisturbedUselessDraftLosesLittle) {
  for (int at = 0; at < 12; ++at) {
    CostModel costs = Unknown();
    Simulation run(costs, {Level(0, 0.12)});
    run.disturb = [at](int event) { return event == at ? 20.0 : 1.0; };
    EXPECT_LE(Lost(run.Answer(128)), 1.1 * Allowed(128)) << at;
  }
}

// Drafting saves as much time if all passes and proposals take 2.5 times as long.
TEST(Observer, ASlowerMachineChangesNothing) {
  CostModel costs = Unknown();
  Simulation run(costs, {Level(0.8, 0.12)});
  for (int i = 0; i < 3; ++i) run.Answer(128);
  run.disturb = [](int) { return 2.5; };
  double passes = 0;
  for (int i = 0; i < 6; ++i) passes += run.Answer(128).passes / 2.5;
  EXPECT_GT(6 * 128 / passes, 1.65);
}

// While the machine is busy, levels take seven times as long. A draft of 0.6 right guesses then
// rests; on the idle machine two levels write 1.96 tokens in 1.4 passes.
TEST(Observer, ADraftThatRestedWhileTheMachineWasBusyComesBack) {
  ScriptedDrafter draft = Level(0.6, 0.1);
  CostModel costs = Unknown();
  draft.level = 0.7;
  Simulation busy(costs, {draft});
  for (int i = 0; i < 20; ++i) busy.Answer(128);
  draft.level = 0.1;
  draft.reading = 0.002;
  Simulation idle(costs, {draft});
  for (int i = 0; i < 8; ++i) idle.Answer(128);
  EXPECT_GT(MeanSpeed(idle, 20), 1.25);
}

// Reading a prompt costs time: a draft of unknown speed-up reads only short prompts.
TEST(Observer, PromptsAreReadForDraftsThatSaveTime) {
  for (const double hits : {0.0, 0.7}) {
    ScriptedDrafter draft = Level(hits, 0.12);
    draft.reading = 0.0075;
    CostModel costs = Unknown();
    Simulation run(costs, {draft});
    double lost = 0;
    for (int i = 0; i < 40; ++i) {
      run.prompt = 40 + 37 * (i % 10);
      lost += Lost(run.Answer(128));
    }
    EXPECT_LE(lost, 40 * (hits > 0 ? -30 : Allowed(128))) << hits;
  }
}

// A draft model of a third of the target's size, for prompts of 300 tokens.
ScriptedDrafter ThirdOfTheTarget(double hits) {
  ScriptedDrafter draft = Level(hits, 0.3);
  draft.confidence = 0.9;
  draft.reading = 0.03;
  draft.acceptance = {0.8F};
  draft.may_skip = true;
  draft.skipping = 0.8;
  return draft;
}

// The best chain would reach a speed-up of 1.9 without the 9 passes of reading a whole prompt.
TEST(Observer, AGoodDraftModelPaysWithinTheFirstAnswers) {
  CostModel costs = Unknown();
  Simulation run(costs, {ThirdOfTheTarget(0.93)});
  run.truth = [](int rows) { return 1 + 0.03 * (rows - 1); };
  run.prompt = 300;
  EXPECT_GT(Speed(run.Answer(128)), 1.1);
  EXPECT_GT(MeanSpeed(run, 3), 1.4);
  EXPECT_GT(MeanSpeed(run, 10), 1.5);
}

// A draft model with recorded acceptance may borrow exploration budget from later answers.
TEST_P(FirstAnswers, AUselessDraftModelLosesLittleOnAverage) {
  CostModel costs = Unknown();
  Simulation run(costs, {ThirdOfTheTarget(0.0)});
  run.prompt = 300;
  const double first = Lost(run.Answer(GetParam()));
  EXPECT_LE(first, Allowed(GetParam()) + 8);
  double lost = first;
  for (int i = 1; i < 20; ++i) lost += Lost(run.Answer(GetParam()));
  EXPECT_LE(lost, 20 * Allowed(GetParam()));
}

// The first try uses the exploration budget left over from the first answers.
TEST(Observer, ADraftThatMustReadIsTriedAfterAFewAnswers) {
  ScriptedDrafter draft = Level(0.8, 0.12);
  draft.reading = 0.01;
  draft.level_bytes = 0;  // so that its cost is not guessed from its size
  CostModel costs = Unknown();
  Simulation run(costs, {draft});
  run.prompt = 500;
  const auto drafted = [&run] {
    const SimulatedAnswer answer = run.Answer(128);
    return std::accumulate(answer.nodes.begin(), answer.nodes.end(), 0);
  };
  EXPECT_EQ(drafted(), 0);
  int answers = 1;
  while (answers < 20 && drafted() == 0) ++answers;
  EXPECT_LE(answers, 8);
  EXPECT_GT(MeanSpeed(run, 10), 1.4);
}

// Of two joined drafters, the one whose guesses are never right rests while the other drafts.
TEST(Observer, APartRestsAlone) {
  for (const bool copying : {true, false}) {
    CostModel costs = Unknown();
    Simulation run(costs, {Copier(copying ? 0.9 : 0, 0.7), Level(copying ? 0 : 0.8, 0.12)});
    SimulatedAnswer answer;
    for (int i = 0; i < 3; ++i) answer = run.Answer(256);
    const auto sum = [](const std::vector<int>& nodes) {
      return std::accumulate(nodes.begin(), nodes.end(), 0);
    };
    EXPECT_GT(sum(answer.nodes_by[copying ? 0 : 1]), 60) << copying;
    EXPECT_LT(sum(answer.nodes_by[copying ? 1 : 0]), 12) << copying;
    EXPECT_GT(Speed(answer), 1.6) << copying;
  }
}

// A long run costs a lot when it fails, but is worth it on average. The best chain would reach a
// speed-up of 4.5.
TEST(Observer, LongRunsAreWorthTheirRisk) {
  ScriptedDrafter copier = Copier(0.97, 0.85);
  copier.run = 64;
  CostModel costs = Unknown();
  Simulation run(costs, {copier});
  run.truth = [](int rows) { return rows <= 8 ? 1 + 0.1 * (rows - 1) : 1.7 + 0.13 * (rows - 8); };
  run.Answer(128);
  EXPECT_GT(MeanSpeed(run, 40), 4.0);
}

// The copying part drafts where text is copied, the other part elsewhere.
TEST(Observer, PartsShareTheText) {
  ScriptedDrafter copier = Copier(0, 0.7), draft = Level(0.8, 0.12);
  copier.hits = [](int at) { return at / 64 % 2 == 0 ? 0.97 : 0.0; };
  CostModel joined_costs = Unknown(), copier_costs = Unknown(), draft_costs = Unknown();
  Simulation joined(joined_costs, {copier, draft});
  Simulation copying(copier_costs, {copier}), drafting(draft_costs, {draft});
  SimulatedAnswer all, by_copying, by_drafting;
  for (int i = 0; i < 4; ++i) {
    all = joined.Answer(512);
    by_copying = copying.Answer(512);
    by_drafting = drafting.Answer(512);
  }
  EXPECT_GT(Speed(all), Speed(by_copying));
  EXPECT_GT(Speed(all), 1.1 * Speed(by_drafting));
}

}  // namespace
}  // namespace foretoken
