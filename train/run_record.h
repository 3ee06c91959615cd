// The record of what a training run was begun with, kept in its checkpoints: a resumed run must not
// use other data, another target or another recipe without the user's consent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint_file.h"
#include "recipe.h"

namespace foretoken::train {

// Returns the record as JSON: the recipe after flags, hashes of the data's contents, and the
// identity of the target (FeatureOwner, chat template). Reads every file. Relative data patterns
// are looked up under `base`. REQUIRES: `recipe` is complete. Errors: data or target that cannot be
// read.
Result<std::string> RecordRun(const Recipe& recipe, const std::string& base);

// Hashes everything in RecordRun's record that affects the trained weights: names, intervals and
// the paths of data and target are omitted.
std::string RunKey(const std::string& record);

// Checks the names given to --change: fields, `settings`, "data" and "target". Errors: an unknown
// name, or one that a run cannot change.
Status CheckChangeNames(std::span<const Setting> settings, std::span<const std::string> names);

struct RunContinuation {
  std::string directory;  // of the run
  const Recipe& recipe;   // of this command
  std::span<const Setting> settings;
  std::span<const std::string> changes;  // fields that may differ
};
// Checks that the run with checkpoint `kept` may be resumed with `record`, RecordRun's result. For
// checkpoints of older versions, which have no record, compares only the recipe. Errors: a run of
// another method; averages in only one of the two; a difference that run.changes does not name. The
// message lists the differences and the options that resume or restart the run.
Status CheckContinues(const RunContinuation& run, const CheckpointInfo& kept,
                      const std::string& record);

}  // namespace foretoken::train
