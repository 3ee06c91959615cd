// A weight matrix in panels (number_format.h), made from the rows of a model file.
#pragma once

#include <memory>
#include <span>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/page_arena.h"
#include "base/thread_pool.h"

namespace foretoken {

// Thread-safety: const after creation.
class PackedWeight : public Weight {
 public:
  // `data` holds rows * RowBytes(type, cols) bytes and is not needed afterwards;
  // `interleaved_panels`: as in KernelConfig. Errors: out of memory, a type or shape that cannot be
  // packed.
  static Result<std::unique_ptr<PackedWeight>> Pack(DType type, int64_t rows, int64_t cols,
                                                    const std::byte* data, int interleaved_panels,
                                                    ThreadPool& pool, PageArena& arena);

  DType type() const override { return type_; }
  int64_t rows() const override { return rows_; }
  int64_t cols() const override { return cols_; }
  size_t bytes() const override { return static_cast<size_t>(layout_.Bytes(panels())); }

  Format format() const { return format_; }
  const PanelLayout& layout() const { return layout_; }
  int64_t panels() const { return (rows_ + kPanel - 1) / kPanel; }
  const std::byte* data() const { return memory_.get(); }
  bool is_finite() const { return finite_; }  // AllFinite of the file's bytes

  // Writes row `row` to `out` as floats [cols], exactly as Dequantize gives it.
  void ReadRow(int64_t row, float* out) const;

 private:
  PackedWeight() = default;

  DType type_ = DType::kF32;
  Format format_ = Format::kF32;
  int64_t rows_ = 0, cols_ = 0;
  PanelLayout layout_;
  bool finite_ = true;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace foretoken
