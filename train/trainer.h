// The training loop of `foretoken train lm`.
#pragma once

#include <string>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

struct TrainOptions {
  Recipe recipe;
  std::string data_base;  // where relative data patterns are looked up; "" = the current directory
  std::string out;        // directory of checkpoint, tokenizer, corpus and logs
  bool profile = false;   // measure the matrix peak and report the fraction reached
  bool quiet = false;
};

// Trains until the schedule ends, or SIGINT/SIGTERM asks to stop; continues from a checkpoint in
// `out`. On the CPU a resumed run repeats the uninterrupted one bit for bit, unless a time budget
// drives the schedule. Errors: data, files, a checkpoint of another model shape.
Status Train(const TrainOptions& options);

// How far the schedule is (0 .. 1 and beyond) after `step` steps and `seconds` of training.
double ScheduleProgress(const Recipe& recipe, int64_t step, double seconds);
// The learning rate of update number `step` (from 1) at that progress.
double LearningRate(const Recipe& recipe, int64_t step, double progress);

}  // namespace foretoken::train
