// Sequences of token ids as tensors.
#pragma once

#include <span>

#include "llama.h"
#include "packing.h"

namespace foretoken::train {

// One batch of packed sequences, each filled up to `length` with positions that learn nothing.
Batch MakeBatch(const Corpus& corpus, std::span<const Sequence> sequences, int64_t length,
                torch::Device device);
// Sum of the batch's weights: the tokens that are learnt.
double LearntTokens(const Batch& batch);

}  // namespace foretoken::train
