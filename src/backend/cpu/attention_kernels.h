// Attention of a few rows over one key/value head, written once over vec.h.
//
// Whatever is computed beside it, a query's result is: scores summed over the head's elements in
// order; the exact maximum; exponentials summed in lane (position mod 16), ascending; values added
// position by position. Only absolute positions enter, so a committed and a provisional prefix give
// equal bits.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/vec.h"
#include "backend/cpu/vec_math.h"

namespace foretoken::FT_ISA {

inline constexpr int kKeys = 16;  // positions of a block

FT_INLINE float ElementQ8_0(const std::byte* row, int64_t i) {
  const std::byte* block = row + i / 32 * 34;
  uint32_t half = 0;
  __builtin_memcpy(&half, block, 2);
  uint16_t lanes[kLanes] = {static_cast<uint16_t>(half)};
  return LoadHalf(lanes).v[0][0] * static_cast<float>(static_cast<int8_t>(block[2 + i % 32]));
}

FT_INLINE F LoadQ8_0(const std::byte* row, int64_t i) {
  const std::byte* block = row + i / 32 * 34;
  uint16_t half;
  __builtin_memcpy(&half, block, 2);
  uint16_t halves[kLanes];
  for (int j = 0; j < kLanes; ++j) halves[j] = half;
  return LoadHalf(halves) * ToF(LoadS8(block + 2 + i % 32));
}

// Elements [i, i + 16) of a cache row, or its first n of them and zeros.
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

struct Widened {
  const std::byte* base;
  int64_t row_bytes;
};

FT_INLINE int CacheRow(const AttentionUnit& u, const AttentionRow& row, int position) {
  return position < row.run ? position : u.committed + row.chain[position - row.run];
}

// How many positions ahead of its use a row of the cache is asked for.
inline constexpr int kRowsAhead = 32;

// The cache row of position from + j, or beyond a row's last position that one again.
FT_INLINE const std::byte* BlockRow(const AttentionUnit& u, const AttentionRow& row,
                                    const Widened& cache, int from, int j) {
  const int position = from + j < row.count ? from + j : row.count - 1;
  return cache.base + CacheRow(u, row, position) * cache.row_bytes;
}

template <CacheType kType>
FT_INLINE void AskAhead(const AttentionUnit& u, const AttentionRow& row, const Widened& cache,
                        int position) {
  constexpr int64_t kElement = kType == CacheType::kF32 ? 4 : kType == CacheType::kQ8_0 ? 1 : 2;
  if (position + kRowsAhead >= row.run) return;
  Prefetch(cache.base + (position + kRowsAhead) * cache.row_bytes + u.column * kElement,
           u.head_dim * kElement);
}

// Positions [from, from + 16) of a row as floats [16][padded head].
template <CacheType kType>
void WidenBlock(const AttentionUnit& u, const AttentionRow& row, const Widened& cache, int from,
                float* out) {
  for (int j = 0; j < kKeys; ++j, out += PaddedHead(u.head_dim)) {
    AskAhead<kType>(u, row, cache, from + j);
    const std::byte* in = BlockRow(u, row, cache, from, j);
    for (int d = 0; d < u.head_dim; d += kLanes) {
      Store(LoadCache<kType>(in, u.column + d, u.head_dim - d), out + d);
    }
  }
}

// The same as [padded head][16]: a lane is a position.
template <CacheType kType>
void WidenTransposed(const AttentionUnit& u, const AttentionRow& row, const Widened& cache,
                     int from, float* out) {
  const std::byte* in[kKeys];
  for (int j = 0; j < kKeys; ++j) {
    AskAhead<kType>(u, row, cache, from + j);
    in[j] = BlockRow(u, row, cache, from, j);
  }
  for (int d = 0; d < u.head_dim; d += kLanes) {
    F x[kKeys];
    FT_UNROLL(16)
    for (int j = 0; j < kKeys; ++j) x[j] = LoadCache<kType>(in[j], u.column + d, u.head_dim - d);
    StoreTransposed(x, out + d * kKeys);
  }
}

using WidenFn = void (*)(const AttentionUnit&, const AttentionRow&, const Widened&, int, float*);

// By CacheType.
inline constexpr WidenFn kWidenBlock[] = {WidenBlock<CacheType::kF32>, WidenBlock<CacheType::kF16>,
                                          WidenBlock<CacheType::kBF16>,
                                          WidenBlock<CacheType::kQ8_0>};
inline constexpr WidenFn kWidenTransposed[] = {
    WidenTransposed<CacheType::kF32>, WidenTransposed<CacheType::kF16>,
    WidenTransposed<CacheType::kBF16>, WidenTransposed<CacheType::kQ8_0>};

// Scores of 16 keys for kQueries queries [padded], whose scores are `stride` floats apart. Sums run
// over the head's elements in ascending order.
template <int kQueries>
FT_INLINE void ScoreKeys(const float* keys, const float* q, int64_t padded, int head_dim,
                         float scale, float* scores, int64_t stride) {
  F acc[kQueries];
  FT_UNROLL(8)
  for (int i = 0; i < kQueries; ++i) acc[i] = Zero();
  for (int d = 0; d < head_dim; ++d) {
    const F k = Load(keys + d * kKeys);
    FT_UNROLL(8)
    for (int i = 0; i < kQueries; ++i) acc[i] = MulAdd(Splat(q[i * padded + d]), k, acc[i]);
  }
  FT_UNROLL(8)
  for (int i = 0; i < kQueries; ++i) Store(acc[i] * Splat(scale), scores + i * stride);
}

inline void ScoreBlock(const float* keys, const float* q, int64_t padded, int head_dim, int queries,
                       float scale, float* scores, int64_t stride) {
  int i = 0;
  for (; i + 8 <= queries; i += 8) {
    ScoreKeys<8>(keys, q + i * padded, padded, head_dim, scale, scores + i * stride, stride);
  }
  for (; i + 2 <= queries; i += 2) {
    ScoreKeys<2>(keys, q + i * padded, padded, head_dim, scale, scores + i * stride, stride);
  }
  for (; i < queries; ++i) {
    ScoreKeys<1>(keys, q + i * padded, padded, head_dim, scale, scores + i * stride, stride);
  }
}

// Adds 16 values, each times its query's weight, to kQueries results [padded], kVectors at a time.
template <int kQueries, int kVectors>
FT_INLINE void MixVectors(const float* values, const float* weights, int64_t stride, int64_t padded,
                          float* out) {
  F acc[kQueries][kVectors];
  FT_UNROLL(4)
  for (int i = 0; i < kQueries; ++i) {
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[i][v] = Load(out + i * padded + v * kLanes);
  }
  for (int j = 0; j < kKeys; ++j) {
    F x[kVectors];
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) x[v] = Load(values + j * padded + v * kLanes);
    FT_UNROLL(4)
    for (int i = 0; i < kQueries; ++i) {
      const F w = Splat(weights[i * stride + j]);
      FT_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = MulAdd(w, x[v], acc[i][v]);
    }
  }
  FT_UNROLL(4)
  for (int i = 0; i < kQueries; ++i) {
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) Store(acc[i][v], out + i * padded + v * kLanes);
  }
}

template <int kQueries>
FT_INLINE void MixQueries(const float* values, const float* weights, int64_t stride, int64_t padded,
                          float* out) {
  int64_t d = 0;
  for (; d + 4 * kLanes <= padded; d += 4 * kLanes) {
    MixVectors<kQueries, 4>(values + d, weights, stride, padded, out + d);
  }
  for (; d < padded; d += kLanes) {
    MixVectors<kQueries, 1>(values + d, weights, stride, padded, out + d);
  }
}

inline void MixBlock(const float* values, const float* weights, int64_t stride, int64_t padded,
                     int queries, float* out) {
  int i = 0;
  for (; i + 4 <= queries; i += 4) {
    MixQueries<4>(values, weights + i * stride, stride, padded, out + i * padded);
  }
  for (; i < queries; ++i) {
    MixQueries<1>(values, weights + i * stride, stride, padded, out + i * padded);
  }
}

// Turns scores [from, count) into exponentials of their distance to the highest, with zeros from
// `from` to `begin` and from `count` to the next multiple of 16. Returns their sum.
inline float Exponentials(float* scores, int from, int begin, int count) {
  const F lowest = Splat(-__builtin_inff());
  const I first = Splat(begin - 1), last = Splat(count), lanes = LaneNumbers();
  F top = lowest;
  for (int i = begin / kLanes * kLanes; i < count; i += kLanes) {
    const I at = lanes + Splat(i);
    const F x = Select(Greater(at, first) & Greater(last, at), Load(scores + i), lowest);
    Store(x, scores + i);
    top = Max(x, top);
  }
  const F highest = Splat(MaxLane(top));
  for (int i = from; i < begin / kLanes * kLanes; i += kLanes) Store(Zero(), scores + i);
  F sum = Zero();
  for (int i = begin / kLanes * kLanes; i < count; i += kLanes) {
    const F x = Exp(Load(scores + i) - highest);
    Store(x, scores + i);
    sum = sum + x;
  }
  return Sum(sum);
}

// Where the pieces of a unit's scratch begin, and how much of the cache its rows share.
struct UnitPlan {
  int64_t padded;
  int queries;
  float *scores, *q, *mixed, *block;
  int shared_begin,
      shared_end;  // positions that are the same cache row for every row, in whole blocks
};

inline UnitPlan PlanUnit(const AttentionUnit& u) {
  UnitPlan p;
  p.padded = PaddedHead(u.head_dim);
  p.queries = u.row_count * u.heads;
  p.scores = u.scratch;
  p.q = p.scores + p.queries * u.score_stride;
  p.mixed = p.q + p.queries * p.padded;
  p.block = p.mixed + p.queries * p.padded;
  p.shared_begin = u.rows[0].begin;
  p.shared_end = u.rows[0].run;
  for (int r = 1; r < u.row_count; ++r) {
    p.shared_begin = u.rows[r].begin < p.shared_begin ? u.rows[r].begin : p.shared_begin;
    p.shared_end = u.rows[r].run < p.shared_end ? u.rows[r].run : p.shared_end;
  }
  p.shared_begin = p.shared_begin / kKeys * kKeys;
  p.shared_end = p.shared_end / kKeys * kKeys;
  if (p.shared_end < p.shared_begin) p.shared_end = p.shared_begin;
  return p;
}

// Widens every block of positions that some query needs and calls visit(first query, queries,
// position): for each query in ascending order, first the blocks that all rows share.
template <typename Visit>
FT_INLINE void EachBlock(const AttentionUnit& u, const UnitPlan& p, const Widened& cache,
                         WidenFn widen, Visit visit) {
  for (int i = p.shared_begin; i < p.shared_end; i += kKeys) {
    widen(u, u.rows[0], cache, i, p.block);
    visit(0, p.queries, i);
  }
  for (int r = 0; r < u.row_count; ++r) {
    const int begin = u.rows[r].begin / kKeys * kKeys;
    for (int i = begin > p.shared_end ? begin : p.shared_end; i < u.rows[r].count; i += kKeys) {
      widen(u, u.rows[r], cache, i, p.block);
      visit(r * u.heads, u.heads, i);
    }
  }
}

inline void Scores(const AttentionUnit& u, const UnitPlan& p) {
  for (int i = 0; i < p.queries; ++i) {
    const float* q = u.rows[i / u.heads].q + i % u.heads * u.head_dim;
    for (int d = 0; d < u.head_dim; d += kLanes) {
      Store(LoadFirst(q + d, u.head_dim - d), p.q + i * p.padded + d);
    }
  }
  EachBlock(u, p, {u.keys, u.key_row_bytes}, kWidenTransposed[static_cast<int>(u.key_type)],
            [&](int query, int queries, int at) {
              ScoreBlock(p.block, p.q + query * p.padded, p.padded, u.head_dim, queries, u.scale,
                         p.scores + query * u.score_stride + at, u.score_stride);
            });
}

// Exponentials of one query's scores and the factor that makes probabilities of them.
inline float Normaliser(const AttentionUnit& u, const UnitPlan& p, int query) {
  const AttentionRow& row = u.rows[query / u.heads];
  float* scores = p.scores + query * u.score_stride;
  return 1.0f / Exponentials(scores, p.shared_begin, row.begin, row.count);
}

inline void Attention(const AttentionUnit& u) {
  const UnitPlan p = PlanUnit(u);
  Scores(u, p);
  // The queries are not needed any more: their place keeps the normalisers.
  for (int i = 0; i < p.queries; ++i) p.q[i] = Normaliser(u, p, i);
  for (int64_t i = 0; i < p.queries * p.padded; i += kLanes) Store(Zero(), p.mixed + i);
  EachBlock(u, p, {u.values, u.value_row_bytes}, kWidenBlock[static_cast<int>(u.value_type)],
            [&](int query, int queries, int at) {
              MixBlock(p.block, p.scores + query * u.score_stride + at, u.score_stride, p.padded,
                       queries, p.mixed + query * p.padded);
            });
  for (int i = 0; i < p.queries; ++i) {
    float* out = u.rows[i / u.heads].out + i % u.heads * u.head_dim;
    for (int d = 0; d < u.head_dim; d += kLanes) {
      StoreFirst(Load(p.mixed + i * p.padded + d) * Splat(p.q[i]), out + d, u.head_dim - d);
    }
  }
}

inline void AttentionWeights(const AttentionUnit& u) {
  const UnitPlan p = PlanUnit(u);
  Scores(u, p);
  for (int i = 0; i < p.queries; ++i) {
    const AttentionRow& row = u.rows[i / u.heads];
    const F factor = Splat(Normaliser(u, p, i));
    const float* scores = p.scores + i * u.score_stride;
    float* out = row.out + static_cast<int64_t>(i % u.heads) * row.count;
    for (int64_t j = 0; j < row.count; j += kLanes) {
      StoreFirst(Load(scores + j) * factor, out + j, row.count - j);
    }
  }
}

constexpr void FillAttention(Kernels& k) {
  k.attention = &Attention;
  k.attention_weights = &AttentionWeights;
}

}  // namespace foretoken::FT_ISA
