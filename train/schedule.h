// How long a run is and how fast it learns.
#pragma once

#include <cstdint>

#include "recipe.h"

namespace foretoken::train {

// Steps and warm-up in place of epochs and shares, for data of so many sequences an epoch.
Recipe WithSteps(Recipe recipe, int64_t sequences_in_epoch);
// How far the schedule is (0 .. 1 and beyond) after `step` steps and `seconds` of training.
double ScheduleProgress(const Recipe& recipe, int64_t step, double seconds);
// The learning rate of update number `step` (from 1) at that progress, or where `decay_steps` puts
// it.
double LearningRate(const Recipe& recipe, int64_t step, double progress);
// The rate after the warm-up, where `at` (0 .. 1) of the schedule is behind.
double DecayedRate(const Recipe& recipe, double at);

}  // namespace foretoken::train
