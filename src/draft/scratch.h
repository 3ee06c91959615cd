// Scratch of drafts' networks.
#pragma once

#include <algorithm>
#include <bit>

#include "backend/backend.h"

namespace foretoken {

// `rows` rows of `cols`, in memory that grows to a power of two rows of the widest so far; what it
// held is lost then.
inline Tensor ReserveRows(Backend& backend, int rows, int64_t cols, Buffer& buffer) {
  if (rows > buffer.tensor.rows || cols > buffer.tensor.cols) {
    const int64_t widest = std::max(cols, buffer.tensor.cols);
    buffer = backend.Allocate(DType::kF32, std::bit_ceil(static_cast<unsigned>(rows)), widest);
  }
  return buffer.tensor.Rows(0, rows).Cols(0, cols);
}

}  // namespace foretoken
