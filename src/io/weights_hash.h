// A hash that tells a model's weights from those of another of the same name and sizes.
#pragma once

#include <cstdint>

#include "io/model_file.h"

namespace foretoken {

// Chains names and bytes of all tensors, which are read for it, in the file's order.
uint64_t HashWeights(const ModelFile& file);
// The same of names, types, shapes and the first 4 KiB of each tensor: quick, and hardly ever the
// same for two files that were trained apart.
uint64_t SampleWeights(const ModelFile& file);

}  // namespace foretoken
