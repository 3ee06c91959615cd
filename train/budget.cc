#include "budget.h"

#include <algorithm>
#include <cmath>

#include "schedule.h"

namespace foretoken::train {
namespace {

// Steps at the start of a trial that are not timed: the first one includes one-time initialisation.
constexpr int64_t kSlowSteps = 1;
constexpr int64_t kMinTrialSteps = 4, kMaxTrialSteps = 50;
constexpr double kTrialShare = 0.02;  // the trial's share of the budget
// Progress that a step of the trial counts for: it begins the warm-up, however long that will be.
constexpr double kTrialProgress = 0.0002;
constexpr double kUsualWarmup = 0.05;    // share of the schedule, if the recipe sets none
constexpr double kFirstRate = 0.1;       // smallest share of the full rate during warm-up
constexpr int64_t kMinStepsPerPlan = 5;  // minimum steps from a plan to its update
constexpr int64_t kUpdatesPerPlan = 6;   // a plan is updated after 1 / 6 of its steps
// A new plan keeps the old one's last step if that is off by less than this share of the budget.
constexpr double kMaxDeviation = 0.01;
constexpr double kEvaluationShare = 0.06;  // the evaluations' share of the budget
constexpr double kMaxEvaluations = 10;

// Returns the number of held-out evaluations in the whole run. They are evenly spaced, with the
// last one after the last step.
double Evaluations(const Recipe& r, const RunState& s) {
  if (r.eval_every == 0) return 0.0;
  if (s.evaluation <= 0.0) return 1.0;
  return std::clamp(std::floor(kEvaluationShare * r.budget / s.evaluation), 1.0, kMaxEvaluations);
}

double EvaluationsUpTo(const Recipe& r, const RunState& s, double progress) {
  return std::floor(Evaluations(r, s) * std::min(progress, 1.0));
}

double PlannedProgress(const RunState& s, int64_t step) {
  const BudgetPlan& p = s.plan;
  if (p.end == 0) {
    return std::min(p.progress + kTrialProgress * static_cast<double>(step - p.from), 1.0);
  }
  if (step >= p.end) return 1.0;
  const double part = static_cast<double>(step - p.from) / static_cast<double>(p.end - p.from);
  return p.progress + (1.0 - p.progress) * part;
}

// Returns the warm-up's share of the schedule.
double WarmupShare(const Recipe& r) { return r.warmup_share > 0.0 ? r.warmup_share : kUsualWarmup; }

bool MayPlan(const Recipe& r, const RunState& s) {
  const BudgetPlan& p = s.plan;
  const int64_t steps = s.step - p.from;
  if (p.end != 0) return steps >= std::max(kMinStepsPerPlan, (p.end - p.from) / kUpdatesPerPlan);
  const bool is_long_enough = s.seconds - s.evaluating - p.seconds >= kTrialShare * r.budget;
  return steps >= kMinTrialSteps && (is_long_enough || steps >= kMaxTrialSteps);
}

}  // namespace

double SecondsAfterTraining(const Recipe& r) { return std::min(0.08 * r.budget, 90.0); }

double BudgetUsed(const Recipe& r, const RunState& s) {
  return s.seconds / (r.budget - SecondsAfterTraining(r));
}

RunState ResumedState(const Recipe& r, const CheckpointInfo& kept) {
  RunState s = kept.state;
  if (r.budget == kept.recipe.budget) return s;
  const int64_t eval_batches = s.plan.eval_batches;
  s.plan = {};
  if (r.budget <= 0.0) return s;
  const double used = BudgetUsed(r, s);
  if (used >= 1.0) {
    s.plan.end = s.step;  // nothing is left of the budget
    return s;
  }
  // A run of few steps stays in its warm-up, even if these steps took much of the budget.
  const double of_steps = kTrialProgress * static_cast<double>(s.step);
  const double progress = of_steps < WarmupShare(r) ? std::min(used, of_steps) : used;
  s.plan.from = s.step + kSlowSteps;
  s.plan.progress = progress + kTrialProgress * static_cast<double>(kSlowSteps);
  s.plan.seconds = s.StepSeconds();
  s.plan.eval_batches = eval_batches;
  return s;
}

const char* LengthField(const Recipe& r, const RunState& s) {
  if (r.budget > 0.0) return "budget";
  if (r.time_budget > 0.0 && s.seconds >= r.time_budget) return "time_budget";
  return r.epochs > 0.0 ? "epochs" : "steps";
}

double ProgressOf(const Recipe& r, const RunState& s) {
  return r.budget > 0.0 ? PlannedProgress(s, s.step) : ScheduleProgress(r, s.step, s.seconds);
}

double NextRate(const Recipe& r, const RunState& s) {
  const double progress = ProgressOf(r, s);
  if (r.budget <= 0.0) return LearningRate(r, s.step + 1, progress);
  const double warmup =
      std::clamp(PlannedProgress(s, s.step + 1) / WarmupShare(r), kFirstRate, 1.0);
  return warmup * DecayedRate(r, progress);
}

bool EvaluationDue(const Recipe& r, const RunState& s) {
  if (r.eval_every == 0) return false;
  const double progress = ProgressOf(r, s);
  if (r.budget <= 0.0) return progress >= 1.0 || s.step % r.eval_every == 0;
  return EvaluationsUpTo(r, s, progress) > EvaluationsUpTo(r, s, PlannedProgress(s, s.step - 1));
}

double SecondsFor(double steps, double pace, const ReadingLeft& reading) {
  const double while_reading = std::min(steps, reading.steps);
  if (while_reading <= 0.0) return steps * pace;
  const double reads = reading.seconds * while_reading / reading.steps;
  const double hidden = reading.is_ahead ? std::min(reads, while_reading * pace) : 0.0;
  return steps * pace + reads - hidden;
}

double StepsWithin(double seconds, double pace, const ReadingLeft& reading) {
  if (seconds <= 0.0) return 0.0;
  const double until_read = SecondsFor(reading.steps, pace, reading);
  if (seconds < until_read) return reading.steps * seconds / until_read;
  return reading.steps + (seconds - until_read) / std::max(pace, 1e-9);
}

bool PlanForBudget(const Recipe& r, int64_t eval_batches, const ReadingLeft& reading, RunState& s) {
  BudgetPlan& p = s.plan;
  const double training_seconds = s.StepSeconds();
  if (p.end == 0 && s.step <= std::max(p.from, kSlowSteps)) {
    p.progress = PlannedProgress(s, s.step);
    p.from = s.step;
    p.seconds = training_seconds;
    return false;
  }
  if (!MayPlan(r, s) || (p.end != 0 && s.step >= p.end)) return false;
  const bool is_first_plan = p.end == 0;
  const double pace = (training_seconds - p.seconds) / static_cast<double>(s.step - p.from);
  if (is_first_plan) {
    const double batch_seconds = pace / static_cast<double>(r.accumulate);
    const double affordable_batches =
        std::floor(kEvaluationShare * r.budget / std::max(batch_seconds, 1e-9));
    p.eval_batches = static_cast<int64_t>(
        std::clamp(affordable_batches, 1.0, static_cast<double>(eval_batches)));
    s.evaluation = batch_seconds * static_cast<double>(p.eval_batches);
  }
  const double progress = ProgressOf(r, s);
  const double evaluations = Evaluations(r, s) - EvaluationsUpTo(r, s, progress);
  const double seconds_left =
      r.budget - SecondsAfterTraining(r) - s.seconds - evaluations * s.evaluation;
  const double steps = std::clamp(std::floor(StepsWithin(seconds_left, pace, reading)), 1.0, 1e12);
  int64_t end = s.step + static_cast<int64_t>(steps);
  const double deviation = pace * std::abs(static_cast<double>(end - p.end));
  if (!is_first_plan && deviation < kMaxDeviation * r.budget) end = p.end;
  // The trial did not know how much of the run it was.
  const double share = static_cast<double>(s.step) / static_cast<double>(end);
  p = {s.step, end, is_first_plan ? share : progress, training_seconds, p.eval_batches};
  return is_first_plan;
}

}  // namespace foretoken::train
