// Dispatches operations to the kernels of an element type. Included by the sources of operations.
#pragma once

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <vector>

#include "train_kernels.h"

namespace foretoken::train {

inline constexpr int64_t kRowGrain = 16;
inline constexpr int64_t kReduceParts = 16;  // fixed: sums do not depend on the thread count

// Convert an attention's shape to the form stored in autograd nodes, and back.
inline std::vector<int64_t> Packed(const AttentionShape& s) {
  return {s.batch, s.length, s.heads, s.kv_heads, s.head_dim, s.block, s.rope_dim};
}
inline AttentionShape Unpacked(const std::vector<int64_t>& v) {
  return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
}

inline bool UsesKernels(const torch::Tensor& x) { return x.device().is_cpu(); }

// Calls body(T{}) with the kernels' element type T for `type`.
template <typename Body>
void Dispatch(torch::ScalarType type, const Body& body) {
  if (type == torch::kBFloat16) {
    body(Bf16{});
  } else {
    TORCH_CHECK(type == torch::kFloat32, "compute type must be bf16 or f32");
    body(float{});
  }
}

template <typename T>
T* Data(const torch::Tensor& x) {
  return x.defined() ? reinterpret_cast<T*>(x.data_ptr()) : nullptr;
}

template <typename Body>
void ForRows(int64_t rows, const Body& body) {
  at::parallel_for(0, rows, kRowGrain, body);
}

// Adds part[m], of `keys` rows, to the first `keys` rows of sum[m] for every matrix m. `sum` is
// f32.
template <typename T>
void AddKeys(const torch::Tensor& part, const torch::Tensor& sum) {
  const int64_t count = part.size(1) * part.size(2), stride = sum.size(1) * sum.size(2);
  at::parallel_for(0, part.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      KernelsFor<T>().add_to_float(0, count, Data<T>(part) + m * count,
                                   Data<float>(sum) + m * stride);
    }
  });
}

}  // namespace foretoken::train
