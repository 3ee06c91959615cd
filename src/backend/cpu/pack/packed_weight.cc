#include "backend/cpu/pack/packed_weight.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "backend/cpu/pack/panel_format.h"
#include "io/finite_values.h"

namespace foretoken {

Result<std::unique_ptr<PackedWeight>> PackedWeight::Pack(DType type, int64_t rows, int64_t cols,
                                                         const std::byte* data,
                                                         int interleaved_panels, ThreadPool& pool,
                                                         PageArena& arena) {
  const std::optional<Format> format = FormatOf(type);
  if (!format)
    return Error{"the CPU backend cannot multiply by weights of type " +
                 std::string(DTypeName(type))};
  if (rows <= 0 || cols <= 0 || cols % BlockElements(type) != 0) {
    std::string expected = "positive sizes";
    if (BlockElements(type) > 1) {
      expected += ", with columns a multiple of " + std::to_string(BlockElements(type));
    }
    return Error{"a " + std::string(DTypeName(type)) + " weight of shape [" + std::to_string(rows) +
                 ", " + std::to_string(cols) + "]: expected " + expected};
  }
  std::unique_ptr<PackedWeight> w(new PackedWeight);
  w->type_ = type;
  w->format_ = *format;
  w->rows_ = rows;
  w->cols_ = cols;
  w->layout_ = LayoutOf(*format, cols, interleaved_panels);
  w->memory_ = arena.Allocate(w->bytes());
  if (!w->memory_) {
    return OutOfMemory(w->bytes());
  }
  const auto row_bytes = static_cast<int64_t>(RowBytes(type, cols));
  std::atomic<bool> finite = true;
  pool.ParallelFor(w->panels(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int count = static_cast<int>(std::min<int64_t>(kPanel, rows - p * kPanel));
      const std::byte* const from = data + p * kPanel * row_bytes;
      PackPanel(w->format_, w->layout_, cols, from, row_bytes, count, w->memory_.get(), p);
      // Checked while the rows are in the cache: a separate pass would read all weights once more.
      const std::span file_rows(from, static_cast<size_t>(count * row_bytes));
      if (!AllFinite(type, file_rows)) finite.store(false, std::memory_order_relaxed);
    }
  });
  w->finite_ = finite;
  return w;
}

void PackedWeight::ReadRow(int64_t row, float* out) const {
  FT_CHECK(row >= 0 && row < rows_);
  UnpackLane(format_, layout_, cols_, data(), row / kPanel, static_cast<int>(row % kPanel), out);
}

}  // namespace foretoken
