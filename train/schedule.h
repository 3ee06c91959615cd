// The length of a run and its learning rate.
#pragma once

#include <cstdint>

#include "recipe.h"

namespace foretoken::train {

// Converts epochs and the warm-up's share to steps, for data of `sequences_in_epoch`. A recipe with
// a budget stays as it is.
Recipe WithSteps(Recipe recipe, int64_t sequences_in_epoch);
// Returns the schedule's progress after `step` steps and `seconds` of training: 0 .. 1, or more
// once the schedule is over.
double ScheduleProgress(const Recipe& recipe, int64_t step, double seconds);
// Returns the learning rate of update number `step` (from 1). The decay follows `progress`, or
// recipe.decay_steps if that is set.
double LearningRate(const Recipe& recipe, int64_t step, double progress);
// Returns the rate without warm-up at progress `at` (0 .. 1).
double DecayedRate(const Recipe& recipe, double at);

}  // namespace foretoken::train
