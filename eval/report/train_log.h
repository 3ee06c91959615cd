// The log that a training run keeps (log.jsonl), as series over its steps.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace foretoken {

using StepValues = std::vector<std::pair<double, double>>;  // (step, value), as logged

struct TrainLog {
  std::string run;  // its directory, as the user named it
  double last_step = 0;
  StepValues loss, heldout_loss, lr;
  std::vector<StepValues> alpha, top1;  // [n]: teacher_forced_alpha_{n+1}, top1_{n+1}
};

// Reads the lines of a log; `path` opens the errors. Values that were not finite (logged as null)
// are left out, and so is a last line that a killed run left half-written. Errors: a line that is
// no JSON or has a field of another type, no lines, no loss at all.
Result<TrainLog> ParseTrainLog(std::string_view text, const std::string& path);

// The log in the directory `run`.
Result<TrainLog> ReadTrainLog(const std::string& run);

}  // namespace foretoken
