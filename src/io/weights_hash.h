// A hash that tells a model's weights from those of another of the same name and sizes.
#pragma once

#include <cstdint>

#include "io/model_file.h"

namespace foretoken {

// Chains names and bytes of all tensors, which are read for it, in the file's order.
uint64_t HashWeights(const ModelFile& file);

}  // namespace foretoken
