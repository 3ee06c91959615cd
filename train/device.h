// Where the arithmetic of a run happens.
#pragma once

#include <torch/types.h>

#include "base/result.h"
#include "recipe.h"
#include "workers.h"

namespace foretoken::train {

// The worker's own: a GPU each, or all on the CPU, whose cores they then share. Errors: no GPU
// where the recipe wants one, fewer than workers.
Result<torch::Device> ChooseDevice(const Recipe& recipe, const Workers& workers);

// Whether products in bf16 are fast where the recipe will run: on a GPU, or on a CPU for which
// oneDNN has them. Elsewhere libtorch's own take many times as long as those in f32.
bool HasBf16Products(const Recipe& recipe);

// Of libtorch and of the BLAS it uses for f32. Errors: more threads than the system starts.
Status SetThreads(const Recipe& recipe, const Workers& workers);

// FLOP/s of the fastest of a few square products of that type.
double MatrixPeak(torch::ScalarType type, torch::Device device);

}  // namespace foretoken::train
