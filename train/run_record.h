// The record of a training run's recipe, data and target, kept in its checkpoints. A resumed run
// must not change them without the user's consent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/run_differences.h"
#include "checkpoint_file.h"
#include "recipe.h"

namespace foretoken::train {

// Returns the record as JSON: the recipe with the command line's options applied, hashes of the
// data's contents, and the identity of the target (FeatureOwner, chat template). Reads every data
// file. Relative data patterns are looked up under `base`. REQUIRES: CompleteSettings has succeeded
// on `recipe`. Errors: data or a target that cannot be read.
Result<std::string> RecordRun(const Recipe& recipe, const std::string& base);

// Returns a hash of RecordRun's record without what cannot affect the trained weights: the recipe's
// fields of Change::kFree, and the paths of data and target.
std::string RunKey(const std::string& record);

// Checks the names given to --change: each is a field, one of `settings`, "data" or "target".
// Errors: an unknown name, or one that a run cannot change.
Status CheckChangeNames(std::span<const Setting> settings, std::span<const std::string> names);

struct RunContinuation {
  std::string directory;                 // the run's directory
  const Recipe& recipe;                  // this command's recipe
  std::span<const Setting> settings;     // the method's table
  std::span<const std::string> changes;  // the names given to --change
  bool min_lr_follows_lr = false;        // a change of lr includes min_lr
};
// Checks that the run with checkpoint `kept` may be resumed by a command whose RecordRun returned
// `record`. For checkpoints of older versions, which have no record, compares only the recipe.
// Returns the differences, all of which run.changes names; without min_lr if that follows lr.
// Errors: a run of another method; a run with averaged weights (ema) resumed without, or the
// reverse; a difference that run.changes does not name. The message lists the differences and the
// options that resume or restart the run.
Result<std::vector<RunDifference>> CheckContinues(const RunContinuation& run,
                                                  const CheckpointInfo& kept,
                                                  const std::string& record);

}  // namespace foretoken::train
