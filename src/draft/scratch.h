// Buffers of drafters and their tools that grow on demand.
#pragma once

#include <algorithm>
#include <bit>

#include "backend/backend.h"

namespace foretoken {

// Returns `rows` rows of `cols` in `buffer`. If it is too small, it is replaced by one that has
// `rows` rounded up to a power of two and the largest width so far, and its contents are lost.
// Errors: out of memory.
inline Result<Tensor> ReserveRows(Backend& backend, int rows, int64_t cols, Buffer& buffer) {
  if (rows > buffer.tensor.rows || cols > buffer.tensor.cols) {
    const int64_t widest = std::max(cols, buffer.tensor.cols);
    const auto capacity = std::bit_ceil(static_cast<unsigned>(rows));
    FT_ASSIGN_OR_RETURN(buffer, backend.Allocate(DType::kF32, capacity, widest));
  }
  return buffer.tensor.Rows(0, rows).Cols(0, cols);
}

// Grows `buffer` to at least `rows` rows of `cols` and keeps its first `held` rows. It is doubled,
// so that repeated growth copies little, unless memory suffices only for `rows`. Errors: out of
// memory; the buffer is then unchanged.
inline Status GrowRows(Backend& backend, int64_t rows, int64_t cols, int64_t held, Buffer& buffer) {
  constexpr int64_t kMinRows = 64;
  if (rows <= buffer.tensor.rows) return {};
  const int64_t capacity = std::max({rows, 2 * buffer.tensor.rows, kMinRows});
  Result<Buffer> larger = backend.Allocate(DType::kF32, capacity, cols);
  if (!larger.ok() && capacity > rows) larger = backend.Allocate(DType::kF32, rows, cols);
  if (!larger.ok()) return larger.error();
  if (held > 0) backend.StoreRows(buffer.tensor.Rows(0, held), larger->tensor.Rows(0, held));
  buffer = *std::move(larger);
  return {};
}

inline size_t BytesOf(const Buffer& buffer) {
  return static_cast<size_t>(buffer.tensor.rows * buffer.tensor.row_bytes);
}

}  // namespace foretoken
