// Converts packed sequences to tensors.
#pragma once

#include <span>

#include "llama.h"
#include "packing.h"

namespace foretoken::train {

// Makes a batch of packed sequences, each padded to `length` with positions of weight 0. `number`:
// the index of the first sequence among all sequences of the run. Keeps references to `corpus`.
Batch MakeBatch(const Corpus& corpus, std::span<const Sequence> sequences, int64_t length,
                uint64_t number, torch::Device device);

// Appends what the target reads for the pieces of a coming sequence to Batch::coming.
void AddComing(const Corpus& corpus, const Sequence& sequence, Batch& batch);

}  // namespace foretoken::train
