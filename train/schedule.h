// The schedule of a run: its length, its progress and its learning rate.
#pragma once

#include <cstdint>

#include "recipe.h"

namespace foretoken::train {

// Returns `recipe` with epochs and warmup_share converted to steps, for epochs of
// `sequences_in_epoch` packed sequences. A recipe with `budget` set is returned unchanged
// (PlanForBudget plans its steps).
Recipe WithSteps(Recipe recipe, int64_t sequences_in_epoch);
// Returns the schedule's progress after `step` steps and `seconds` of training: 0 .. 1, or more
// once the schedule is over.
double ScheduleProgress(const Recipe& recipe, int64_t step, double seconds);
// Returns the learning rate of step number `step` (from 1). `progress`: the schedule's progress
// before that step; the decay follows it, or recipe.decay_steps if that is set.
double LearningRate(const Recipe& recipe, int64_t step, double progress);
// Returns the learning rate, without the factor of the warm-up, at `progress` (0 .. 1) of the
// decay.
double DecayedRate(const Recipe& recipe, double progress);

}  // namespace foretoken::train
