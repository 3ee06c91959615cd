// Plans a run for a time budget (`--budget 20m`), and computes the progress of any run.
//
// The first steps of a run with a budget are a trial. Their pace determines the number of steps,
// over which warm-up and decay of the learning rate are stretched. The pace is measured again
// during the run, and the remaining steps are replanned from the current progress. A plan is part
// of the run's state, which checkpoints contain, so a resumed run keeps its plan.
#pragma once

#include "checkpoint_file.h"

namespace foretoken::train {

// Returns how many seconds of the budget are reserved for the work after training: exporting the
// draft and measuring its acceptance.
double SecondsAfterTraining(const Recipe& recipe);

// Returns the run's progress: 0 .. 1 with a budget; without one, ScheduleProgress, which may exceed
// 1.
double ProgressOf(const Recipe& recipe, const RunState& state);
// Returns the learning rate of the next step.
double NextRate(const Recipe& recipe, const RunState& state);
// Whether the held-out data are to be evaluated after the last finished step.
bool EvaluationDue(const Recipe& recipe, const RunState& state);

// Makes or updates the plan after a step and its evaluation. `eval_batches` (1 or more): the number
// of held-out batches. The first plan sets state.plan.eval_batches to as many of them as the budget
// has time for. Returns true if this call made the first plan. REQUIRES: recipe.budget > 0.
bool PlanForBudget(const Recipe& recipe, int64_t eval_batches, RunState& state);

}  // namespace foretoken::train
