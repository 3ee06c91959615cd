// Random draws that are functions of a key. They need no state of a random-number generator, so a
// resumed run repeats them, and they do not depend on the number of workers or threads.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace foretoken::train {

// Returns the highest `bits` bits, at most 63, of Mix(key ^ i) for i = 0 .. count - 1: [count]
// int64 on `device`.
torch::Tensor DrawnBits(uint64_t key, int64_t count, int64_t bits, torch::Device device);

// Returns [count] bool on `device`, each true with the given probability.
torch::Tensor Chosen(double probability, uint64_t key, int64_t count,
                     torch::Device device = torch::kCPU);

// Dropout: each element of x becomes 0 with probability `rate` and is multiplied by 1 / (1 - rate)
// otherwise, which preserves its expected value. Differentiable. Rate 0 returns x itself. REQUIRES:
// 0 <= rate < 1.
torch::Tensor Dropped(const torch::Tensor& x, double rate, uint64_t key);

}  // namespace foretoken::train
