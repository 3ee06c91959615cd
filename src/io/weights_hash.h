// Hashes that distinguish models of the same name and sizes by their weights.
#pragma once

#include <cstdint>

#include "io/model_file.h"

namespace foretoken {

// Hash of the names and bytes of all tensors, in the file's order. Reads the whole file.
uint64_t HashWeights(const ModelFile& file);
// Hash of names, types, shapes and the first 4 KiB of each tensor: fast, and very likely to differ
// between models that were trained separately.
uint64_t SampleWeights(const ModelFile& file);

}  // namespace foretoken
