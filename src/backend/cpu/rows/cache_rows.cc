// Ops that store, move and load rows of caches, and that gather rows.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_backend.h"

namespace foretoken {
namespace {

// Converts n floats to `type`, by scalar code where no kernel does.
void StoreFloats(const Kernels& kernels, DType type, const float* x, int64_t n, std::byte* out) {
  if (type == DType::kF16 && kernels.store_half != nullptr) return kernels.store_half(x, n, out);
  if (type == DType::kBF16) return kernels.store_bf16(x, n, out);
  if (type == DType::kF32) {
    std::memcpy(out, x, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  Quantize(type, {x, static_cast<size_t>(n)}, out);
}

int64_t LeftInPage(int64_t row) { return kPageRows - row % kPageRows; }

// Calls work(row, n) for rows [first, first + count), cut where pages end.
template <typename Work>
void ForEachPagePart(int64_t first, int64_t count, const Work& work) {
  for (int64_t row = first, n; row < first + count; row += n) {
    n = std::min(first + count - row, LeftInPage(row));
    work(row, n);
  }
}

// Copies rows from pages to pages with groups of the same type and width.
class RowMover {
 public:
  RowMover(const PagedRows& src, const PagedRows& dst)
      : src_(src),
        dst_(dst),
        groups_(src.groups()),
        bytes_(static_cast<int64_t>(RowBytes(src.type, src.group_cols))),
        // If rows are not adjacent, the bytes between them are another group's.
        packed_(src.row_bytes == bytes_ && dst.row_bytes == bytes_) {}

  // Copies rows [from, from + n) of src to rows [to, to + n) of dst. REQUIRES: each range lies in
  // one page; from >= to where both are in the same memory.
  void Move(int64_t from, int64_t to, int64_t n) const {
    const std::byte* in = src_.Row(from);
    std::byte* out = dst_.Row(to);
    for (int64_t g = 0; g < groups_; ++g, in += src_.group_bytes, out += dst_.group_bytes) {
      if (packed_) {
        std::memmove(out, in, static_cast<size_t>(n * bytes_));
        continue;
      }
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(out + i * dst_.row_bytes, in + i * src_.row_bytes, static_cast<size_t>(bytes_));
      }
    }
  }

 private:
  const PagedRows &src_, &dst_;
  const int64_t groups_, bytes_;
  const bool packed_;
};

}  // namespace

void CpuBackend::StoreRows(Tensor src, Tensor dst) {
  const Profile::Scope scope(profile_, kCacheRows);
  FT_CHECK(src.rows == dst.rows && src.cols == dst.cols);
  EachRow(src.rows, src.cols, [&](int64_t r) {
    StoreFloats(kernels_, dst.type, FloatRow(src, r), src.cols, dst.data + r * dst.row_bytes);
  });
}

void CpuBackend::StoreRows(Tensor src, std::span<const RowRun> runs) {
  const Profile::Scope scope(profile_, kCacheRows);
  int64_t rows = 0;
  for (const RowRun& run : runs) {
    FT_CHECK(run.rows.cols == src.cols && run.from + run.count <= src.rows);
    rows += run.count;
  }
  const auto store = [&](const RowRun& run, int64_t begin, int64_t end) {
    const PagedRows& to = run.rows;
    const int64_t groups = to.groups();
    ForEachPagePart(run.to + begin, end - begin, [&](int64_t row, int64_t n) {
      std::byte* out = to.Row(row);
      for (int64_t i = 0; i < n; ++i, out += to.row_bytes) {
        const float* const from = FloatRow(src, run.from + row - run.to + i);
        for (int64_t g = 0; g < groups; ++g) {
          StoreFloats(kernels_, to.type, from + g * to.group_cols, to.group_cols,
                      out + g * to.group_bytes);
        }
      }
    });
  };
  const int64_t grain = rows * src.cols < kWorthSharing ? rows : 1;
  pool_->ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    int64_t first = 0;  // the run's first row, counted over the rows of all runs
    for (const RowRun& run : runs) {
      store(run, std::max<int64_t>(0, begin - first), std::min(end - first, run.count));
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
    const float* const from = FloatRow(src, row);
    float* const to = FloatRow(out, i);
    if (from != to) std::memcpy(to, from, static_cast<size_t>(src.cols) * sizeof(float));
  };
  if (out.data != src.data) return EachRow(out.rows, out.cols, copy);
  // In order, so that a row is read before it is overwritten.
  for (int64_t i = 0; i < out.rows; ++i) {
    FT_CHECK(i == 0 || rows[static_cast<size_t>(i)] > rows[static_cast<size_t>(i - 1)]);
    copy(i);
  }
}

void CpuBackend::CopyRows(const PagedRows& src, const PagedRows& dst, int64_t first,
                          int64_t count) {
  const Profile::Scope scope(profile_, kCacheRows);
  FT_CHECK(src.type == dst.type && src.cols == dst.cols && src.group_cols == dst.group_cols);
  const RowMover mover(src, dst);
  ForEachPagePart(first, count, [&](int64_t row, int64_t n) { mover.Move(row, row, n); });
}

void CpuBackend::CompactRows(const PagedRows& rows, std::span<const int> from, int64_t to) {
  const Profile::Scope scope(profile_, kCacheRows);
  const RowMover mover(rows, rows);
  for (int64_t i = 0, n; i < std::ssize(from); i += n) {
    const int64_t row = from[static_cast<size_t>(i)], target = to + i;
    FT_CHECK(row >= target);
    const int64_t most = std::min({std::ssize(from) - i, LeftInPage(row), LeftInPage(target)});
    for (n = 1; n < most && from[static_cast<size_t>(i + n)] == row + n;) ++n;
    if (row != target) mover.Move(row, target, n);
  }
}

void CpuBackend::Download(const PagedRows& src, int64_t first, int64_t count, float* host) {
  const auto cols = static_cast<size_t>(src.group_cols);
  const int64_t groups = src.groups();
  ForEachPagePart(first, count, [&](int64_t row, int64_t n) {
    const std::byte* in = src.Row(row);
    for (int64_t i = 0; i < n; ++i, in += src.row_bytes) {
      for (int64_t g = 0; g < groups; ++g, host += cols) {
        Dequantize(src.type, in + g * src.group_bytes, {host, cols});
      }
    }
  });
}

}  // namespace foretoken
