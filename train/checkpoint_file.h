// The file a checkpoint is kept in, without libtorch: safetensors with weights, optimiser moments
// and the counters of the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/safetensors_write.h"
#include "recipe.h"

namespace foretoken::train {

// The schedule of a run with a budget (budget.h): how far it is rises evenly from `progress` after
// step `from` to 1 after step `end`.
struct BudgetPlan {
  int64_t from = 0, end = 0;  // end 0: not planned yet, the first steps are a trial
  double progress = 0.0;
  double seconds = 0.0;      // of learning, until step `from`
  int64_t eval_batches = 0;  // of held-out data that there is time for; 0: all
};

struct RunState {
  int64_t step = 0;       // finished optimiser steps
  int64_t sequences = 0;  // sequences consumed: the place in the data order
  int64_t tokens = 0;     // learnt tokens
  double seconds = 0.0;   // training time, pauses left out
  double heldout = 0.0;   // last held-out loss, 0 = none yet
  // Of a draft, with that loss: the share of right tokens at each step among the drafts that
  // reached it. Empty: none yet, or no draft.
  std::vector<double> alpha = {};
  // Of a run with a budget: seconds spent evaluating, and those of one evaluation (0: not known).
  double evaluating = 0.0, evaluation = 0.0;
  BudgetPlan plan = {};
};

struct CheckpointInfo {
  Recipe recipe;  // with what data or target decided
  RunState state;
  std::string begun;  // what the run was begun with (run_record.h); "" in older files
};

// What stands before a weight's name where the tensor is one of AdamW's moments, or the weight that
// training goes on with where its average is exported.
inline constexpr char kFirstMoment[] = "first.", kSecondMoment[] = "second.",
                      kLiveWeight[] = "live.";

std::string CheckpointPath(const std::string& directory);

using TensorRecord = SafetensorsTensor;  // of "F32", "BF16" or "U8"

// Written beside the old file, flushed to disk and renamed over it: a kill leaves one or the other.
// A checksum of all of it stands in the header's metadata.
Status WriteSafetensors(const std::string& path, const std::vector<TensorRecord>& tensors);

// Errors: bytes that are not what WriteSafetensors wrote. Files without a checksum, of an older
// version or of others, have none to differ from.
Status CheckSafetensors(const std::string& path);

// The record that holds recipe and counters.
TensorRecord InfoRecord(const CheckpointInfo& info);
// Its inverse for a checkpoint, all of whose bytes are checked. Errors: an unreadable or damaged
// file, a field of another type or out of its range.
Result<CheckpointInfo> ReadCheckpointInfo(const std::string& directory);

}  // namespace foretoken::train
