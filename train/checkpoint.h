// Saving and restoring a training run.
#pragma once

#include <string>

#include "adamw.h"
#include "base/result.h"
#include "checkpoint_file.h"
#include "llama.h"

namespace foretoken::train {

Status SaveCheckpoint(const std::string& directory, const CheckpointInfo& info,
                      const WeightSet& weights, AdamW& optimizer);

// Restores weights and moments. Errors: a tensor that is missing or of another shape.
Status LoadCheckpoint(const std::string& directory, WeightSet& weights, AdamW& optimizer);

LlamaShape ShapeOf(const Recipe& recipe);

}  // namespace foretoken::train
