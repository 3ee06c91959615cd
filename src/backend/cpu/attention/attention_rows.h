// Cache rows as attention reads them: by position, widened to floats.
#pragma once

#include "backend/cpu/isa/vec.h"
#include "backend/cpu/kernels.h"

namespace foretoken::FT_ISA {

// The scale of the block that holds element i of a row.
FT_INLINE float ScaleQ8_0(const std::byte* row, int64_t i) {
  uint16_t half;
  __builtin_memcpy(&half, row + i / 32 * 34, 2);
#if defined(__F16C__)
  return _cvtsh_ss(half);
#else
  uint16_t lanes[kLanes] = {half};
  return LoadHalf(lanes).v[0][0];
#endif
}

FT_INLINE float ElementQ8_0(const std::byte* row, int64_t i) {
  const auto code = static_cast<int8_t>(row[i / 32 * 34 + 2 + i % 32]);
  return ScaleQ8_0(row, i) * static_cast<float>(code);
}

FT_INLINE F LoadQ8_0(const std::byte* row, int64_t i) {
  return Splat(ScaleQ8_0(row, i)) * ToF(LoadS8(row + i / 32 * 34 + 2 + i % 32));
}

// Elements [i, i + 16) of a cache row; if n < 16, only the first n of them, then zeros.
template <CacheType kType>
FT_INLINE F LoadCache(const std::byte* row, int64_t i, int64_t n) {
  if constexpr (kType == CacheType::kF32) {
    return LoadFirst(reinterpret_cast<const float*>(row) + i, n);
  } else if constexpr (kType == CacheType::kQ8_0) {
    if (n >= kLanes && i % kLanes == 0) return LoadQ8_0(row, i);
    float few[kLanes] = {};
    for (int j = 0; j < n && j < kLanes; ++j) few[j] = ElementQ8_0(row, i + j);
    return Load(few);
  } else {
    const std::byte* from = row + 2 * i;
    uint16_t few[kLanes] = {};
    if (n < kLanes) {
      __builtin_memcpy(few, from, static_cast<size_t>(n) * 2);
      from = reinterpret_cast<const std::byte*>(few);
    }
    return kType == CacheType::kF16 ? LoadHalf(from) : LoadBf16(from);
  }
}

// One cache of a unit: its keys or its values.
struct CacheView {
  const std::byte* const* pages;
  int64_t offset, row_bytes;
  // The address of row `row`. The rows after it, up to the end of its page, follow row_bytes apart.
  FT_INLINE const std::byte* Row(int row) const {
    const auto at = static_cast<unsigned>(row);
    return pages[at / kCachePageRows] + offset + at % kCachePageRows * row_bytes;
  }
};

FT_INLINE CacheView KeysOf(const AttentionUnit& u) {
  return {u.key_pages, u.key_offset, u.key_row_bytes};
}
FT_INLINE CacheView ValuesOf(const AttentionUnit& u) {
  return {u.value_pages, u.value_offset, u.value_row_bytes};
}

FT_INLINE int CacheRow(const AttentionUnit& u, const AttentionRow& row, int position) {
  return position < row.run ? position : u.committed + row.chain[position - row.run];
}

// The address of the cache row of position from + j, or of `row`'s last position if that comes
// earlier.
FT_INLINE const std::byte* BlockRow(const AttentionUnit& u, const AttentionRow& row,
                                    const CacheView& cache, int from, int j) {
  const int position = from + j < row.count ? from + j : row.count - 1;
  return cache.Row(CacheRow(u, row, position));
}

// Whether positions [from, from + n) are all below the row's run and count, so that their cache
// rows are contiguous. REQUIRES: n is a power of two that divides `from` and kCachePageRows, so
// that the rows lie in one page.
FT_INLINE bool InSequence(const AttentionRow& row, int from, int n) {
  return from + n <= row.run && from + n <= row.count;
}

// Writes to `rows` the addresses that BlockRow gives for positions [from, from + n). REQUIRES: as
// for InSequence.
FT_INLINE void BlockRows(const AttentionUnit& u, const AttentionRow& row, const CacheView& cache,
                         int from, int n, const std::byte** rows) {
  if (InSequence(row, from, n)) {
    const std::byte* next = cache.Row(from);
    for (int j = 0; j < n; ++j, next += cache.row_bytes) rows[j] = next;
  } else {
    for (int j = 0; j < n; ++j) rows[j] = BlockRow(u, row, cache, from, j);
  }
}

// Approximate bytes of one head at one position in a cache. Block scales are not counted: they lie
// between the codes and are prefetched with them.
FT_INLINE int64_t HeadBytes(CacheType type, int head_dim) {
  return head_dim * (type == CacheType::kF32 ? 4 : type == CacheType::kQ8_0 ? 1 : 2);
}

// Prefetches the cache rows of the next span, as far as they belong to a row's run, one position at
// a time between arithmetic instructions. Issued all at once, the prefetches would fill the core's
// queue of outstanding reads, and memory would be idle afterwards. With kMayBeNearest, `nearest`
// chooses the L1 cache instead of L2; some CPUs are faster with it. Engines that always prefetch
// into L2 set kMayBeNearest to false, because the branch costs a few percent.
template <bool kMayBeNearest>
class RowPrefetcherOf {
 public:
  RowPrefetcherOf() = default;
  explicit RowPrefetcherOf(const AttentionUnit& u, bool nearest = false)
      : nearest_(nearest),
        unit_(&u),
        key_bytes_(u.key_row_bytes),
        key_head_(HeadBytes(u.key_type, u.head_dim)),
        value_bytes_(u.value_row_bytes),
        value_head_(HeadBytes(u.value_type, u.head_dim)) {}

  // Sets the positions to prefetch: those of [from, end) that are below `run` and not prefetched
  // yet. REQUIRES: [from, end) lies in one page.
  FT_INLINE void SetRange(int from, int end, int run) {
    next_ = next_ > from ? next_ : from;
    end_ = end < run ? end : run;
    if (next_ >= end_) return;
    const AttentionUnit& u = *unit_;
    const auto column = static_cast<int>(u.column);
    keys_ = KeysOf(u).Row(next_) + HeadBytes(u.key_type, column);
    values_ = ValuesOf(u).Row(next_) + HeadBytes(u.value_type, column);
  }
  // Prefetches the next position's keys and values, if one is left.
  FT_INLINE void Next() {
    if (next_ >= end_) return;
    ++next_;
    PrefetchRow(keys_, key_head_);
    keys_ += key_bytes_;
    PrefetchRow(values_, value_head_);
    values_ += value_bytes_;
  }

 private:
  FT_INLINE void PrefetchRow(const std::byte* p, int64_t bytes) const {
    if (kMayBeNearest && nearest_) {
      Prefetch<3>(p, bytes);
    } else {
      Prefetch(p, bytes);
    }
  }

  bool nearest_ = false;
  const AttentionUnit* unit_ = nullptr;
  int next_ = 0, end_ = 0;
  // The two pointers are kept apart. The compiler would pack adjacent pointers into a vector, and
  // pack and unpack that vector in each step.
  const std::byte* keys_ = nullptr;
  int64_t key_bytes_ = 0, key_head_ = 0;
  const std::byte* values_ = nullptr;
  int64_t value_bytes_ = 0, value_head_ = 0;
};
using RowPrefetcher = RowPrefetcherOf<false>;

// Whether positions [from, to) of the cache hold finite values only.
template <CacheType kType>
FT_INLINE bool HoldsFiniteValues(const AttentionUnit& u, const CacheView& cache, int from, int to) {
  I not_finite = Splat(0);
  for (int position = from; position < to; ++position) {
    const std::byte* row = cache.Row(position);
    for (int d = 0; d < u.head_dim; d += kLanes) {
      const F x = LoadCache<kType>(row, u.column + d, u.head_dim - d);
      not_finite = not_finite | Unordered(x - x);
    }
  }
  return Sum(not_finite) == 0;  // lanes are 0 or -1
}

inline bool ValuesAreFinite(const AttentionUnit& u, int from, int to) {
  switch (u.value_type) {
    case CacheType::kF32:
      return HoldsFiniteValues<CacheType::kF32>(u, ValuesOf(u), from, to);
    case CacheType::kF16:
      return HoldsFiniteValues<CacheType::kF16>(u, ValuesOf(u), from, to);
    case CacheType::kBF16:
      return HoldsFiniteValues<CacheType::kBF16>(u, ValuesOf(u), from, to);
    case CacheType::kQ8_0:
      return HoldsFiniteValues<CacheType::kQ8_0>(u, ValuesOf(u), from, to);
  }
  return false;
}

// What the rows of a unit have in common.
struct SharedRows {
  int begin, count;  // [begin, count) holds every position that any row attends to
  int run;           // every row reads the positions below it from the same cache rows
  int longest;       // index of the row whose cache rows are read at shared positions
};

// Finds what the rows of a unit share. Rows of one chain attend to prefixes of the longest row's
// positions, so all positions of that row can be shared. For a row with a prefix, the later
// positions get weight zero. Because zero times infinity is NaN, these positions are shared only if
// their values are finite.
FT_INLINE SharedRows ShareRows(const AttentionUnit& u) {
  SharedRows all{u.rows[0].begin, u.rows[0].count, u.rows[0].run, 0};
  int fewest = all.count;
  bool chain = true;
  for (int r = 0; r < u.row_count; ++r) {
    const AttentionRow& row = u.rows[r];
    all.begin = row.begin < all.begin ? row.begin : all.begin;
    all.run = row.run < all.run ? row.run : all.run;
    fewest = row.count < fewest ? row.count : fewest;
    if (row.count > all.count) {
      all.count = row.count;
      all.longest = r;
    }
    chain = chain && row.run == row.count;
  }
  if (chain && ValuesAreFinite(u, fewest, all.count)) {
    all.run = all.count;
  } else {
    all.longest = 0;
  }
  return all;
}

// Whether two rows attend to the same positions, as the queries of one token do.
FT_INLINE bool HaveSamePositions(const AttentionRow& a, const AttentionRow& b) {
  return a.chain == b.chain && a.begin == b.begin && a.count == b.count && a.run == b.run;
}

// Walks the positions of a unit's rows in spans of Engine::kSpan positions, cut at absolute
// positions, each made of blocks of Engine::kBlock positions. Both sizes divide a page's, so no
// span crosses the end of a page. Calls
//   engine.Widen(row, from, index): converts positions [from, from + kBlock) of `row` to block
//     `index` of the span;
//   engine.Attend(first row, rows, span_begin, blocks): adds the blocks of the span at `span_begin`
//     to the results of these rows, for each row only within its own begin and count.
// Blocks that all rows read from the same cache rows are widened once. Blocks beyond a row's last
// position add nothing to its result, so the result depends on the row's own positions alone.
template <typename Engine>
FT_INLINE void WalkSpans(const AttentionUnit& u, Engine& engine) {
  constexpr int kSpan = Engine::kSpan, kBlock = Engine::kBlock;
  static_assert(kCachePageRows % kSpan == 0 && kSpan % kBlock == 0);
  const SharedRows all = ShareRows(u);
  for (int span_begin = all.begin / kSpan * kSpan; span_begin < all.count; span_begin += kSpan) {
    const bool ends_in_run = all.run == all.count;  // no row attends beyond the run
    // Blocks that lie in the run.
    const int in_run = (all.run - span_begin + (ends_in_run ? kBlock - 1 : 0)) / kBlock;
    const int common = in_run < 0 ? 0 : in_run > kSpan / kBlock ? kSpan / kBlock : in_run;
    for (int i = 0; i < common; ++i) engine.Widen(u.rows[all.longest], span_begin + i * kBlock, i);
    if (ends_in_run || common == kSpan / kBlock) {
      engine.Attend(0, u.row_count, span_begin, common);
      continue;
    }
    for (int r = 0, rows; r < u.row_count; r += rows) {
      const AttentionRow& row = u.rows[r];
      for (rows = 1; r + rows < u.row_count && HaveSamePositions(row, u.rows[r + rows]);) ++rows;
      if (row.count <= span_begin || row.begin >= span_begin + kSpan) continue;
      const int positions = row.count - span_begin < kSpan ? row.count - span_begin : kSpan;
      const int blocks = (positions + kBlock - 1) / kBlock;
      for (int i = common; i < blocks; ++i) engine.Widen(row, span_begin + i * kBlock, i);
      engine.Attend(r, rows, span_begin, blocks);
    }
  }
}

// Hands out pieces of a unit's scratch, each on a multiple of 64 bytes.
class ScratchPieces {
 public:
  explicit ScratchPieces(std::byte* base) : base_(reinterpret_cast<uintptr_t>(base)) {}
  template <typename T>
  T* Take(int64_t count) {
    T* const piece = reinterpret_cast<T*>(base_ + static_cast<uintptr_t>(used_));
    used_ += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return piece;
  }
  int64_t used() const { return used_; }

 private:
  uintptr_t base_;  // points to no memory while only the size is computed
  int64_t used_ = 0;
};

}  // namespace foretoken::FT_ISA
