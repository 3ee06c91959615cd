// The checkpoint file: safetensors with weights, optimiser moments and the state of the run. This
// part of the trainer does not use libtorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/safetensors.h"
#include "io/safetensors_write.h"
#include "recipe.h"

namespace foretoken::train {

// The schedule of a run with a budget (budget.h). Progress rises linearly from `progress` after
// step `from` to 1 after step `end`.
struct BudgetPlan {
  // end 0: no plan yet, the run is in its trial, whose steps are timed from step `from` on
  int64_t from = 0, end = 0;
  double progress = 0.0;
  double seconds = 0.0;      // training time without evaluations, until step `from`
  int64_t eval_batches = 0;  // held-out batches that fit the budget; 0: all
};

struct RunState {
  int64_t step = 0;       // finished optimiser steps
  int64_t sequences = 0;  // sequences consumed: the position in the data order
  int64_t tokens = 0;     // tokens with a loss, so far
  double seconds = 0.0;   // training time, without interruptions
  double heldout = 0.0;   // last held-out loss; 0: none yet
  // Teacher-forced acceptance of a draft, measured together with `heldout`: for each draft step,
  // the share of correct tokens among the drafts that reached it. Empty: not measured yet, or the
  // model is not a draft.
  std::vector<double> alpha = {};
  // For a run with a budget: seconds of all evaluations so far, and of one evaluation (0: unknown).
  double evaluating = 0.0, evaluation = 0.0;
  double waiting = 0.0;  // seconds of waiting for the target to read the data for the first time
  BudgetPlan plan = {};

  // Seconds of the steps alone.
  double StepSeconds() const { return seconds - evaluating - waiting; }
};

struct CheckpointInfo {
  Recipe recipe;  // including the fields that data or target determine
  RunState state;
  std::string begun;  // the run's record (run_record.h); "" in files of older versions
};

// Prefixes of tensor names: AdamW's moments, and live weights in checkpoints with averages.
inline constexpr char kFirstMoment[] = "first.", kSecondMoment[] = "second.",
                      kLiveWeight[] = "live.";

std::string CheckpointPath(const std::string& directory);

// Whether an entry of a checkpoint is a weight. Moments, live weights and the state are not.
bool IsWeight(const SafetensorsEntry& entry);

using TensorRecord = SafetensorsTensor;  // with dtype "F32", "BF16" or "U8"

// Replaces the file atomically: writes a temporary file beside it, flushes it to disk and renames
// it. The header's metadata contain a checksum of the whole file.
Status WriteSafetensors(const std::string& path, const std::vector<TensorRecord>& tensors);

// Verifies the checksum that WriteSafetensors stored. Errors: a truncated file, a checksum
// mismatch. Files without a checksum (of older versions or other programs) pass.
Status CheckSafetensors(const std::string& path);

// The tensor that holds `info` in the file.
TensorRecord InfoRecord(const CheckpointInfo& info);
// Reads a checkpoint's InfoRecord, after verifying the whole file. Errors: an unreadable or damaged
// file, a field of the wrong type or out of range.
Result<CheckpointInfo> ReadCheckpointInfo(const std::string& directory);

}  // namespace foretoken::train
