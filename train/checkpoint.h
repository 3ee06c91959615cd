// Saves and restores training runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint_file.h"
#include "optimizer.h"
#include "weight_average.h"
#include "weights.h"

namespace foretoken::train {

// Writes a checkpoint. With weight averaging, the averages are stored under the weights' names,
// which exports read, and the names of the live weights begin with kLiveWeight. Errors: file-system
// errors; a value that is not finite. On an error the previous checkpoint is kept.
Status SaveCheckpoint(const std::string& directory, const CheckpointInfo& info,
                      const WeightSet& weights, Optimizer& optimizer, WeightAverage& average);

// Restores weights, moments and averages. Errors: a tensor that is missing or has the wrong shape;
// a weight in the file that the model lacks, which the next checkpoint would lose; a value that is
// not finite.
Status LoadCheckpoint(const std::string& directory, WeightSet& weights, Optimizer& optimizer,
                      WeightAverage& average);

// Maps the published name of a weight to its name in a draft file.
using NameInDraft = std::string (*)(std::string_view published);

// Initialises the weights from `from`, which is a run's directory, a file with the published tensor
// names (.safetensors, or a file that torch.save wrote), or a draft file (.gguf). A draft file's
// tensors are found by `name_in_draft` and dequantised. Other tensors of the source are ignored.
// Returns the published names of its biases of modules that have none here. Errors: a tensor that
// is missing or has the wrong shape; values that are not finite or not floats; a draft file if
// `name_in_draft` is null.
Result<std::vector<std::string>> LoadWeights(const std::string& from, NameInDraft name_in_draft,
                                             WeightSet& weights);

}  // namespace foretoken::train
