// Helpers of the backend's tests: random data, weights as files hold them, filled tensors and
// caches.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/pack/number_format.h"
#include "base/check.h"

namespace foretoken::testing {

inline std::vector<float> RandomFloats(size_t n, uint32_t seed, float spread = 1.0f) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

// A weight of a model file: its bytes and its dequantised values.
struct FileWeight {
  DType type;
  int64_t rows, cols;
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

inline FileWeight RandomWeight(DType type, int64_t rows, int64_t cols, uint32_t seed) {
  FileWeight w{type, rows, cols, {}, RandomFloats(static_cast<size_t>(rows * cols), seed)};
  w.bytes.resize(static_cast<size_t>(rows) * RowBytes(type, cols));
  Quantize(type, w.values, w.bytes.data());
  Dequantize(type, w.bytes.data(), w.values);
  return w;
}

inline std::unique_ptr<Weight> Load(Backend& backend, const FileWeight& w) {
  auto loaded = backend.LoadWeight(w.type, w.rows, w.cols, w.bytes.data());
  FT_CHECK(loaded.ok());
  FT_CHECK(!loaded->keeps_source);
  return std::move(loaded->weight);
}

// A float tensor with its memory, filled with `values`.
inline Buffer Filled(Backend& backend, int64_t rows, int64_t cols,
                     const std::vector<float>& values) {
  Buffer b = *backend.Allocate(DType::kF32, rows, cols);
  backend.Upload(values.data(), b.tensor);
  return b;
}

// Rows of a cache and their memory.
struct PagedBuffer {
  Buffer memory;
  std::vector<std::byte*> table;
  int64_t offset = 0, cols = 0, group_cols = 0;
  PagedRows rows() const {
    PagedRows all = PackedRows(table, memory.tensor.type, cols, group_cols);
    all.offset = offset;
    return all;
  }
};

// Pages for `rows` rows, in an order in memory that depends on `seed`, with unused pages between
// them. The rows of a page begin `offset` bytes after its start. Rows that are not written hold NaN
// or, in types with blocks, scales that overflowed.
inline PagedBuffer NewPages(Backend& backend, DType type, int64_t rows, int64_t cols,
                            int64_t group_cols, uint32_t seed) {
  const int64_t used_pages = (rows + kPageRows - 1) / kPageRows, page_count = 2 * used_pages + 1;
  const int64_t lead = BlockElements(type) * 16;  // elements of a page before its rows
  PagedBuffer pages{.cols = cols, .group_cols = group_cols};
  pages.memory = *backend.Allocate(type, page_count, lead + kPageRows * cols);
  const Tensor& all = pages.memory.tensor;
  // 1e38 makes the scale of a block overflow.
  const float poison = BlockElements(type) == 1 ? NAN : 1e38f;
  const std::vector<float> poisoned(static_cast<size_t>(page_count * all.cols), poison);
  backend.StoreRows(Filled(backend, page_count, all.cols, poisoned).tensor, all);
  pages.offset = static_cast<int64_t>(RowBytes(type, lead));
  std::vector<int64_t> order(static_cast<size_t>(page_count));
  for (int64_t i = 0; i < page_count; ++i) order[static_cast<size_t>(i)] = i;
  std::mt19937 rng(seed);
  std::shuffle(order.begin(), order.end(), rng);
  for (int64_t i = 0; i < used_pages; ++i) {
    pages.table.push_back(all.data + order[static_cast<size_t>(i)] * all.row_bytes);
  }
  return pages;
}

// Rows [first, first + count) of a cache.
inline std::vector<float> Values(Backend& backend, const PagedRows& rows, int64_t first,
                                 int64_t count) {
  std::vector<float> values(static_cast<size_t>(count * rows.cols));
  backend.Download(rows, first, count, values.data());
  return values;
}

inline std::vector<float> Values(Backend& backend, Tensor t) {
  std::vector<float> values(static_cast<size_t>(t.rows * t.cols));
  backend.Download(t, values.data());
  return values;
}

inline bool SameBits(const float* a, const float* b, size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

// Every type of weights.
inline constexpr auto kWeightTypes = [] {
  std::array<DType, kFormats> types;
  for (int f = 0; f < kFormats; ++f) types[f] = kFormatTraits[f].type;
  return types;
}();
inline constexpr DType kCacheTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

}  // namespace foretoken::testing
