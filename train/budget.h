// Plans a run for a time budget (`--budget 20m`), and computes the progress of any run.
//
// The first steps of a run with a budget are a trial. Their pace determines the number of steps,
// over which warm-up and decay of the learning rate are stretched. The pace is measured again
// during the run, and the remaining steps are replanned from the current progress. A plan is part
// of the run's state, which checkpoints contain, so a resumed run keeps its plan. A run that is
// resumed with another budget begins a new trial.
#pragma once

#include <cstdint>

#include "checkpoint_file.h"

namespace foretoken::train {

// Returns how many seconds of the budget are reserved for the work after training: exporting the
// draft and measuring its acceptance.
double SecondsAfterTraining(const Recipe& recipe);
// Returns the share of the budget's training time that has passed; above 1 once it is exceeded.
// REQUIRES: recipe.budget > 0.
double BudgetUsed(const Recipe& recipe, const RunState& state);

// Returns the state in which a command with `recipe` resumes the run with checkpoint `kept`.
RunState ResumedState(const Recipe& recipe, const CheckpointInfo& kept);
// Returns the field that determines the length of a run: "budget", "epochs" or "steps", or
// "time_budget" if the run has reached that.
const char* LengthField(const Recipe& recipe, const RunState& state);

// Returns the run's progress: 0 .. 1 with a budget; without one, ScheduleProgress, which may exceed
// 1.
double ProgressOf(const Recipe& recipe, const RunState& state);
// Returns the learning rate of the next step.
double NextRate(const Recipe& recipe, const RunState& state);
// Whether the held-out data are to be evaluated after the last finished step.
bool EvaluationDue(const Recipe& recipe, const RunState& state);

// What the target has read of the data so far, if it keeps the rows of whole documents.
struct TargetReading {
  double waited = 0.0;   // seconds that others waited for it
  double seconds = 0.0;  // that it read
  int64_t rows = 0;      // stored in this time
  int64_t stored = 0;    // in all, by earlier processes too
  bool is_ahead = false;
};

// What the target still has to read of the data (document_reader.h).
struct ReadingLeft {
  double steps = 0.0;     // steps until it has read all
  double seconds = 0.0;   // that reading it takes
  bool is_ahead = false;  // whether it reads while training goes on
};
// Returns the seconds that `steps` further steps take, each `pace` seconds without waiting for the
// target.
double SecondsFor(double steps, double pace, const ReadingLeft& reading);
// Returns the number of further steps that take so many seconds.
double StepsWithin(double seconds, double pace, const ReadingLeft& reading);

// Makes or updates the plan after a step and its evaluation. `eval_batches` (1 or more): the number
// of held-out batches. The first plan sets state.plan.eval_batches to as many of them as the budget
// has time for. Returns true if this call made the first plan. REQUIRES: recipe.budget > 0.
bool PlanForBudget(const Recipe& recipe, int64_t eval_batches, const ReadingLeft& reading,
                   RunState& state);

}  // namespace foretoken::train
