// Chance that is addressed by what it is for (a key), not by what was drawn before: a resumed run
// repeats it, and it is the same whichever worker or thread asks.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace foretoken::train {

// [count] bool on the CPU, each true with the given probability.
torch::Tensor Chosen(double probability, uint64_t key, int64_t count);

// Dropout: each entry of x becomes 0 with probability `rate`, else 1 / (1 - rate) times itself, so
// that its expected value stays. Differentiable; with rate 0, x itself. REQUIRES: 0 <= rate < 1.
torch::Tensor Dropped(const torch::Tensor& x, double rate, uint64_t key);

}  // namespace foretoken::train
