// Sequences of token ids as tensors.
#pragma once

#include <span>

#include "llama.h"
#include "packing.h"

namespace foretoken::train {

// One batch of packed sequences, each filled up to `length` with positions that learn nothing.
// `number` counts the first of them in the run.
Batch MakeBatch(const Corpus& corpus, std::span<const Sequence> sequences, int64_t length,
                uint64_t number, torch::Device device);

}  // namespace foretoken::train
