// Plans a run for a budget of time (`--budget 20m`), and says how far any run is.
//
// The first steps of a run with a budget are a trial. Their pace gives the number of steps, over
// which the warm-up and the decay of the learning rate are stretched. Now and then the pace is
// measured again and the steps that are left are planned anew; the schedule goes on from where it
// is. Plans are functions of the run's state, which checkpoints hold, so a continued run keeps its
// plan.
#pragma once

#include "checkpoint_file.h"

namespace foretoken::train {

// Seconds of the budget that are kept for what follows training: the export of the draft and the
// measurement of its guesses.
double SecondsAfterTraining(const Recipe& recipe);

// How far the run is (0 .. 1 and beyond), with a budget or without.
double ProgressOf(const Recipe& recipe, const RunState& state);
// The learning rate of the next step.
double NextRate(const Recipe& recipe, const RunState& state);
// Whether held-out data are due after the step that ended last.
bool EvaluationDue(const Recipe& recipe, const RunState& state);

// Makes or mends the plan, after a step and its evaluation. Of the `eval_batches` (1 or more) of
// held-out data it keeps those that there is time for. Returns whether the run was planned for the
// first time. REQUIRES: recipe.budget > 0.
bool PlanForBudget(const Recipe& recipe, int64_t eval_batches, RunState& state);

}  // namespace foretoken::train
