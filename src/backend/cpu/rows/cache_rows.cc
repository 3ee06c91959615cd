// Rows on their way to, between and from caches, and rows that are gathered.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"

namespace foretoken {
namespace {

float* RowOfFloats(const Tensor& t, int64_t row) {
  FT_CHECK(t.type == DType::kF32 && row < t.rows);
  return reinterpret_cast<float*>(t.data + row * t.row_bytes);
}

// Converts n floats; scalar where the format has no kernel.
void StoreNumbers(const Kernels& kernels, DType type, const float* x, int64_t n, std::byte* out) {
  if (type == DType::kF16 && kernels.store_half != nullptr) return kernels.store_half(x, n, out);
  if (type == DType::kBF16) return kernels.store_bf16(x, n, out);
  if (type == DType::kF32) {
    std::memcpy(out, x, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  Quantize(type, {x, static_cast<size_t>(n)}, out);
}

size_t GroupRowBytes(const PagedRows& rows) { return RowBytes(rows.type, rows.group_cols); }

}  // namespace

void CpuBackend::StoreRows(Tensor src, Tensor dst) {
  const Profile::Scope scope(profile_, kCacheRows);
  FT_CHECK(src.rows == dst.rows && src.cols == dst.cols);
  EachRow(src.rows, src.cols, [&](int64_t r) {
    StoreNumbers(kernels_, dst.type, RowOfFloats(src, r), src.cols, dst.data + r * dst.row_bytes);
  });
}

void CpuBackend::StoreRows(Tensor src, std::span<const RowRun> runs) {
  const Profile::Scope scope(profile_, kCacheRows);
  int64_t rows = 0;
  for (const RowRun& run : runs) {
    FT_CHECK(run.rows.cols == src.cols && run.from + run.count <= src.rows);
    rows += run.count;
  }
  const auto store = [&](const RowRun& run, int64_t i) {
    const PagedRows& to = run.rows;
    const float* const from = RowOfFloats(src, run.from + i);
    for (int64_t g = 0; g < to.groups(); ++g) {
      StoreNumbers(kernels_, to.type, from + g * to.group_cols, to.group_cols,
                   to.Row(run.to + i, g));
    }
  };
  const int64_t grain = rows * src.cols < kWorthSharing ? rows : 1;
  pool_->ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    int64_t first = 0;  // of the run, among the rows of all runs
    for (const RowRun& run : runs) {
      const int64_t last = std::min(end - first, run.count);
      for (int64_t i = std::max<int64_t>(0, begin - first); i < last; ++i) store(run, i);
      first += run.count;
    }
  });
}

void CpuBackend::Gather(Tensor src, std::span<const int> rows, Tensor out) {
  const Profile::Scope scope(profile_, kCacheRows);
  FT_CHECK(out.rows == static_cast<int64_t>(rows.size()) && out.cols == src.cols);
  const auto copy = [&](int64_t i) {
    const int row = rows[static_cast<size_t>(i)];
    FT_CHECK(0 <= row);
    const float* const from = RowOfFloats(src, row);
    float* const to = RowOfFloats(out, i);
    if (from != to) std::memcpy(to, from, static_cast<size_t>(src.cols) * sizeof(float));
  };
  if (out.data != src.data) return EachRow(out.rows, out.cols, copy);
  for (int64_t i = 0; i < out.rows; ++i) {  // in order: a row is read before it is written
    FT_CHECK(i == 0 || rows[static_cast<size_t>(i)] > rows[static_cast<size_t>(i - 1)]);
    copy(i);
  }
}

void CpuBackend::CopyRows(const PagedRows& src, const PagedRows& dst, int64_t first,
                          int64_t count) {
  const Profile::Scope scope(profile_, kCacheRows);
  FT_CHECK(src.type == dst.type && src.cols == dst.cols && src.group_cols == dst.group_cols);
  const size_t bytes = GroupRowBytes(src);
  for (int64_t g = 0; g < src.groups(); ++g) {
    for (int64_t r = first; r < first + count; ++r) {
      std::memcpy(dst.Row(r, g), src.Row(r, g), bytes);
    }
  }
}

void CpuBackend::CompactRows(const PagedRows& rows, std::span<const int> from, int64_t to) {
  const Profile::Scope scope(profile_, kCacheRows);
  const size_t bytes = GroupRowBytes(rows);
  for (int64_t g = 0; g < rows.groups(); ++g) {
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t target = to + static_cast<int64_t>(i);
      FT_CHECK(from[i] >= target);
      if (from[i] != target) std::memcpy(rows.Row(target, g), rows.Row(from[i], g), bytes);
    }
  }
}

void CpuBackend::Download(const PagedRows& src, int64_t first, int64_t count, float* host) {
  const auto n = static_cast<size_t>(src.group_cols);
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t g = 0; g < src.groups(); ++g) {
      Dequantize(src.type, src.Row(first + r, g), {host + r * src.cols + g * src.group_cols, n});
    }
  }
}

}  // namespace foretoken
