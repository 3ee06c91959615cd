// The device and threads of a run.
#pragma once

#include <torch/types.h>

#include "base/result.h"
#include "recipe.h"
#include "workers.h"

namespace foretoken::train {

// Chooses this worker's device: a GPU of its own, or the CPU, whose cores all workers share.
// Errors: no GPU although the recipe demands one, fewer GPUs than workers.
Result<torch::Device> ChooseDevice(const Recipe& recipe, const Workers& workers);

// Whether a run of the recipe uses a GPU.
bool UsesGpu(const Recipe& recipe);

// Whether bf16 matrix products are fast on the recipe's device: on a GPU, or on a CPU for which
// oneDNN has bf16 kernels. On other CPUs libtorch's bf16 products are many times slower than f32.
bool HasBf16Products(const Recipe& recipe);

// The threads of a worker. If its target reads documents on a CPU and keeps their rows, a thread of
// its own reads them (document_reader.h).
struct ThreadShares {
  int all = 1;
  int training = 1;
  int reading = 0;           // 0: there is no such thread
  bool reads_ahead = false;  // while training goes on
};
ThreadShares ThreadSharesOf(const Recipe& recipe);

// Sets the threads of libtorch and of its f32 BLAS. `has_read`: an epoch is over, so the target has
// read all documents, and the threads that read train too. Errors: more threads than the system can
// start.
Status SetThreads(const Recipe& recipe, bool has_read);

// Measures the FLOP/s of square matrix products of `type`; returns the best of a few runs.
double MatrixPeak(torch::ScalarType type, torch::Device device);

}  // namespace foretoken::train
