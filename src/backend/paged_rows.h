// Rows of a cache that lie in pages of kPageRows rows each: row i is row i % kPageRows of page i /
// kPageRows. A view like Tensor, valid as long as the pages are held.
//
// kPageRows is a multiple of the spans that attention accumulates by (kSpan of the CPU's kernels),
// and those are cut at absolute positions. So a span lies in one page, and where pages lie changes
// no bit of a result.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "io/dtype.h"

namespace foretoken {

inline constexpr int kPageRows = 64;

struct PagedRows {
  std::span<std::byte* const> pages;  // in the order of their rows
  int64_t offset = 0;                 // from the start of a page to its first row, in bytes
  DType type = DType::kF32;           // f32, f16, bf16, q8_0
  int64_t cols = 0;
  int64_t row_bytes = 0;  // from one row of a group to the next
  // Columns are divided into groups (the heads of a cache). In each page a group is a matrix
  // [kPageRows, group_cols], which begins group_bytes after the previous group. Undivided rows are
  // one group.
  int64_t group_cols = 0, group_bytes = 0;

  bool empty() const { return pages.empty(); }
  int64_t rows() const { return std::ssize(pages) * kPageRows; }  // capacity of the pages
  int64_t groups() const { return cols / group_cols; }            // a division: not for inner loops
  // The address of row `row` of a group. The rows after it, up to the end of its page, follow
  // row_bytes apart.
  std::byte* Row(int64_t row, int64_t group = 0) const {
    FT_CHECK(0 <= row && row < rows() && 0 <= group && group < groups());
    return pages[static_cast<size_t>(row / kPageRows)] + offset + group * group_bytes +
           row % kPageRows * row_bytes;
  }
  // The columns of groups [begin, begin + count).
  PagedRows Groups(int64_t begin, int64_t count) const {
    FT_CHECK(0 <= begin && 0 < count && begin + count <= groups());
    PagedRows part = *this;
    part.offset += begin * group_bytes;
    part.cols = count * group_cols;
    return part;
  }
};

// Rows packed in groups of `group_cols` columns. REQUIRES: group_cols is a multiple of the type's
// block and divides cols.
inline PagedRows PackedRows(std::span<std::byte* const> pages, DType type, int64_t cols,
                            int64_t group_cols) {
  FT_CHECK(group_cols > 0 && cols % group_cols == 0);
  const auto row_bytes = static_cast<int64_t>(RowBytes(type, group_cols));
  return {.pages = pages,
          .type = type,
          .cols = cols,
          .row_bytes = row_bytes,
          .group_cols = group_cols,
          .group_bytes = kPageRows * row_bytes};
}

}  // namespace foretoken
