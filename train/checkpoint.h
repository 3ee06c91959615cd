// Saving and restoring a training run.
#pragma once

#include <string>
#include <string_view>

#include "adamw.h"
#include "base/result.h"
#include "checkpoint_file.h"
#include "weight_average.h"
#include "weights.h"

namespace foretoken::train {

// Averages, where there are any, stand under the weights' names, which exports read, and the
// weights that training goes on with beside them. Errors: the system's; a value that is not finite,
// in which case what was saved before stays.
Status SaveCheckpoint(const std::string& directory, const CheckpointInfo& info,
                      const WeightSet& weights, AdamW& optimizer, WeightAverage& average);

// Restores weights, moments and averages. Errors: a tensor that is missing or of another shape, a
// value that is not finite.
Status LoadCheckpoint(const std::string& directory, WeightSet& weights, AdamW& optimizer,
                      WeightAverage& average);

// Maps the published name of a weight to its name in a draft file.
using NameInDraft = std::string (*)(std::string_view published);

// Initialises the weights from another run, `from` its directory, from a published file of the same
// names (.safetensors, or torch.save's), or from a draft file (.gguf), whose values are dequantised
// and whose tensors `name_in_draft` names. Errors: as above; numbers that are no floats; a draft
// file where `name_in_draft` is null.
Status LoadWeights(const std::string& from, NameInDraft name_in_draft, WeightSet& weights);

}  // namespace foretoken::train
