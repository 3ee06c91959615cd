// A view of values in a backend's memory. Copying a view copies no values; it is valid as long as
// the Buffer that owns the memory exists.
#pragma once

#include <cstdint>
#include <memory>

#include "base/check.h"
#include "io/dtype.h"

namespace foretoken {

struct Tensor {
  std::byte* data = nullptr;
  DType type = DType::kF32;
  int64_t rows = 0, cols = 0;
  int64_t row_bytes = 0;  // from the start of one row to the start of the next

  bool empty() const { return data == nullptr; }
  // Rows [begin, begin + count).
  Tensor Rows(int64_t begin, int64_t count) const {
    FT_CHECK(0 <= begin && 0 <= count && begin + count <= rows);
    Tensor t = *this;
    t.data += begin * row_bytes;
    t.rows = count;
    return t;
  }
  // Columns [begin, begin + count) of an unquantised tensor.
  Tensor Cols(int64_t begin, int64_t count) const {
    FT_CHECK(BlockElements(type) == 1 && 0 <= begin && begin + count <= cols);
    Tensor t = *this;
    t.data += begin * static_cast<int64_t>(BlockBytes(type));
    t.cols = count;
    return t;
  }
};

// Owns the memory of `tensor`.
struct Buffer {
  std::shared_ptr<void> owner;
  Tensor tensor;
};

}  // namespace foretoken
