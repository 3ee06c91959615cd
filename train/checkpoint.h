// A checkpoint: one safetensors file with weights, optimiser moments and the counters of the run.
#pragma once

#include <string>

#include "adamw.h"
#include "base/result.h"
#include "llama.h"
#include "recipe.h"

namespace foretoken::train {

struct RunState {
  int64_t step = 0;       // finished optimiser steps
  int64_t sequences = 0;  // sequences consumed: the place in the data order
  int64_t tokens = 0;     // learnt tokens
  double seconds = 0.0;   // training time, pauses left out
  double heldout = 0.0;   // last held-out loss, 0 = none yet
};

std::string CheckpointPath(const std::string& directory);

// Written beside the old file, flushed to disk and renamed over it: a kill leaves one or the other.
Status SaveCheckpoint(const std::string& directory, const Recipe& recipe, const RunState& state,
                      const Llama& model, AdamW& optimizer);

// The recipe and counters of a checkpoint. Errors: unreadable or malformed file.
struct CheckpointInfo {
  Recipe recipe;
  RunState state;
};
Result<CheckpointInfo> ReadCheckpointInfo(const std::string& directory);

// Restores weights and, unless null, moments. Errors: a tensor that is missing or of another shape.
Status LoadCheckpoint(const std::string& directory, Llama& model, AdamW* optimizer);

// Named f32 tensors as a safetensors file (also the Hugging Face export).
struct TensorRecord {
  std::string name, dtype;  // "F32", "BF16", "U8"
  std::vector<int64_t> shape;
  std::string bytes;
};
Status WriteSafetensors(const std::string& path, const std::vector<TensorRecord>& tensors);
TensorRecord FloatRecord(const std::string& name, const torch::Tensor& values);

LlamaShape ShapeOf(const Recipe& recipe);

}  // namespace foretoken::train
