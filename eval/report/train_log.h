// The log of a training run (log.jsonl) as series over its steps.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace foretoken {

using StepValues = std::vector<std::pair<double, double>>;  // (step, value), as logged

struct TrainLog {
  std::string run;  // the run's directory, as given by the user
  double last_step = 0;
  StepValues loss, heldout_loss, lr;
  std::vector<StepValues> alpha, top1;  // [n]: teacher_forced_alpha_{n+1}, top1_{n+1}
};

// Parses the lines of a log; errors begin with `path`. Omits values that were not finite (logged as
// null), and an incomplete last line, which a killed run leaves. Errors: a line that is not JSON or
// has a field of the wrong type, no lines, no finite loss.
Result<TrainLog> ParseTrainLog(std::string_view text, const std::string& path);

// Reads the log in the directory `run`. Errors: those of ParseTrainLog; an unreadable file.
Result<TrainLog> ReadTrainLog(const std::string& run);

}  // namespace foretoken
