// What a training run was begun with, kept in its checkpoints: a run that goes on must not learn
// from other data, for another target or with another recipe without the user's word.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint_file.h"
#include "recipe.h"

namespace foretoken::train {

// As JSON: the recipe after flags, hashes of the data's contents and of all that the target says.
// Reads every file. `recipe` is complete; relative data patterns are looked up under `base`.
// Errors: data or target that cannot be read.
Result<std::string> RecordRun(const Recipe& recipe, const std::string& base);

// A hash of all in a record, RecordRun's, that decides which weights are learnt: names, intervals
// and the places of data and target are left out.
std::string RunKey(const std::string& record);

// Names that --change takes for `method`'s runs: fields and settings, "data" and "target".
Status CheckChangeNames(std::span<const Setting> settings, std::span<const std::string> names);

struct RunContinuation {
  std::string directory;  // of the run
  const Recipe& recipe;   // asked for
  std::span<const Setting> settings;
  std::span<const std::string> changes;  // fields that may differ
};
// Whether the run of which `kept` is the checkpoint may go on as `record`, RecordRun's, says. Of
// checkpoints that older versions wrote, which have no record, the recipe is compared. Errors: what
// differs, and the options with which it goes on or begins anew.
Status CheckContinues(const RunContinuation& run, const CheckpointInfo& kept,
                      const std::string& record);

}  // namespace foretoken::train
