// The training loop of every method.
#pragma once

#include <string>

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Trains until the schedule ends, or SIGINT/SIGTERM asks to stop; continues from a checkpoint in
// `out`. What is trained is options.recipe.method. On the CPU a resumed run repeats the
// uninterrupted one bit for bit, unless a time budget drives the schedule. Errors: recipe, data,
// target, files, a checkpoint of another shape.
Status Train(const TrainOptions& options);

// Steps and warm-up in place of epochs and shares, for data of so many sequences an epoch.
Recipe WithSteps(Recipe recipe, int64_t sequences_in_epoch);
// How far the schedule is (0 .. 1 and beyond) after `step` steps and `seconds` of training.
double ScheduleProgress(const Recipe& recipe, int64_t step, double seconds);
// The learning rate of update number `step` (from 1) at that progress, or where `decay_steps` puts
// it.
double LearningRate(const Recipe& recipe, int64_t step, double progress);

}  // namespace foretoken::train
