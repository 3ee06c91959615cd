// Attention over one span on the vector unit: the scores of several queries against the keys, and
// the weighted sums of the values. Keys and values are first converted from the cache to the
// layouts that these products read.
//
// The code is a template over a class Numbers, which defines what a 32-bit word holds: one float
// (FloatNumbers, ShortNumbers), or two bf16 that one instruction multiplies (PairNumbers,
// pair_numbers.h).
//   kPerWord: elements per word.
//   Product(a, b, c): c plus, in each lane, the products of the elements of a's and b's words.
//   WidenKeys, WidenValues: convert the cached keys or values of a block to words. The block begins
//     at position `from`. Each call prefetches up to four positions of the next span
//     (RowPrefetcher).
//   LoadQuery(q, n): the first kLanes * kPerWord floats at q as one vector of words; if there are
//     only n floats, zeros follow them.
//   Power(x): e^x. REQUIRES: x <= 0.
//   StoreWeights(x, weights, block): stores x, a query's weights at the sixteen positions of
//     `block`, as words in the query's `weights`.
#pragma once

#include "backend/cpu/attention/attention_rows.h"
#include "backend/cpu/isa/vec.h"
#include "backend/cpu/isa/vec_math.h"
#include "backend/cpu/kernels.h"

namespace foretoken::FT_ISA {

inline constexpr int kBlockPositions = 16;  // positions of a block
// Positions of a span. The widened keys and values of a head of 128 elements take 64 KiB as floats
// and 32 KiB as pairs of bf16.
inline constexpr int kSpan = 64;

// Writes the addresses of a block's cache rows to `rows`, and prefetches up to four positions of
// the next span.
FT_INLINE void FindRows(const AttentionUnit& u, const AttentionRow& row, const CacheView& cache,
                        int from, RowPrefetcher& prefetcher, const std::byte** rows) {
  for (int j = 0; j < kBlockPositions; j += 4) prefetcher.Next();
  BlockRows(u, row, cache, from, kBlockPositions, rows);
}

// Elements of a head, padded to whole vectors of kLanes words.
template <typename Numbers>
int64_t PaddedHead(int head_dim) {
  constexpr int kPerVector = kLanes * Numbers::kPerWord;
  return (head_dim + kPerVector - 1) / kPerVector * kPerVector;
}

class FloatNumbers {
 public:
  static constexpr int kPerWord = 1;
  FT_INLINE static F Product(F a, F b, F c) { return MulAdd(a, b, c); }
  FT_INLINE static F LoadQuery(const float* q, int64_t n) { return LoadFirst(q, n); }
  FT_INLINE static F Power(F x) { return Exp(x); }
  FT_INLINE static void StoreWeights(F x, float* weights, int block) {
    Store(x, weights + block * kBlockPositions);
  }

  // Converts a row's keys at positions [from, from + 16) to floats [padded head][16], with one
  // position per lane. Past the row's last position, its key is repeated.
  static void WidenKeys(const AttentionUnit& u, const AttentionRow& row, int from,
                        RowPrefetcher& prefetcher, float* out) {
    static constexpr WidenFn kFns[] = {
        WidenTransposed<CacheType::kF32>, WidenTransposed<CacheType::kF16>,
        WidenTransposed<CacheType::kBF16>, WidenTransposed<CacheType::kQ8_0>};
    kFns[static_cast<int>(u.key_type)](u, row, KeysOf(u), from, prefetcher, out);
  }

  // Converts a row's values at positions [from, from + 16) to floats [16][padded head], with one
  // element per lane. Past the row's last position, its value is repeated.
  static void WidenValues(const AttentionUnit& u, const AttentionRow& row, int from,
                          RowPrefetcher& prefetcher, float* out) {
    static constexpr WidenFn kFns[] = {WidenInOrder<CacheType::kF32>, WidenInOrder<CacheType::kF16>,
                                       WidenInOrder<CacheType::kBF16>,
                                       WidenInOrder<CacheType::kQ8_0>};
    kFns[static_cast<int>(u.value_type)](u, row, ValuesOf(u), from, prefetcher, out);
  }

 private:
  using WidenFn = void (*)(const AttentionUnit&, const AttentionRow&, const CacheView&, int,
                           RowPrefetcher&, float*);

  template <CacheType kType>
  static void WidenInOrder(const AttentionUnit& u, const AttentionRow& row, const CacheView& cache,
                           int from, RowPrefetcher& prefetcher, float* out) {
    const std::byte* in[kBlockPositions];
    BlockRows(u, row, cache, from, kBlockPositions, in);
    for (int j = 0; j < kBlockPositions; ++j, out += PaddedHead<FloatNumbers>(u.head_dim)) {
      if (j % 4 == 0) prefetcher.Next();
      for (int d = 0; d < u.head_dim; d += kLanes) {
        Store(LoadCache<kType>(in[j], u.column + d, u.head_dim - d), out + d);
      }
    }
  }

  template <CacheType kType>
  static void WidenTransposed(const AttentionUnit& u, const AttentionRow& row,
                              const CacheView& cache, int from, RowPrefetcher& prefetcher,
                              float* out) {
    const std::byte* in[kBlockPositions];
    FindRows(u, row, cache, from, prefetcher, in);
    for (int d = 0; d < u.head_dim; d += kLanes) {
      F x[kBlockPositions];
      FT_UNROLL(16)
      for (int j = 0; j < kBlockPositions; ++j)
        x[j] = LoadCache<kType>(in[j], u.column + d, u.head_dim - d);
      StoreTransposed(x, out + d * kBlockPositions);
    }
  }
};

#if defined(__AVX512F__)
// FloatNumbers for caches of at most 16 bits per element, with a faster exponential: its error is
// small compared with the rounding of the cached values.
class ShortNumbers : public FloatNumbers {
 public:
  FT_INLINE static F Power(F x) { return QuickExp(x); }
};
#endif

// Register tiles. Scores: kScoreBlocks blocks of keys times kScoreQueries queries. Results:
// kMixVectors vectors of elements times the four queries of MixSpan.
inline constexpr int kScoreBlocks = kNative == 16 ? 2 : 1;
inline constexpr int kScoreQueries = kNative == 16 ? 8 : kNative == 8 ? 4 : 2;
inline constexpr int kMixVectors = kNative == 16 ? 4 : 1;

// The number of words that are multiplied between two prefetches, each of one position. With eight
// queries, this suffices to prefetch the whole next span during the products of one span.
template <typename Numbers>
inline constexpr int kWordsPerPrefetch = 4 / Numbers::kPerWord;

// Arguments of the products of queries and keys.
struct ScoreCall {
  const float* keys;  // blocks of words [depth][16]
  const float* q;     // words [queries][depth]
  int64_t depth;      // words of a padded head
  int words;          // words of a head, without padding
  float scale;
  float* scores;  // [queries][kSpan]
};

// Computes the scores of kQueries queries at the positions of kBlocks blocks. Sums run over the
// head's elements in ascending order.
template <typename Numbers, int kBlocks, int kQueries>
FT_INLINE void ScoreKeys(const ScoreCall& c, int block, int query, RowPrefetcher& prefetcher) {
  const float* keys = c.keys + block * c.depth * kBlockPositions;
  const float* q = c.q + query * c.depth;
  F acc[kBlocks][kQueries];
  FT_UNROLL(2)
  for (int b = 0; b < kBlocks; ++b) {
    FT_UNROLL(8)
    for (int i = 0; i < kQueries; ++i) acc[b][i] = Zero();
  }
  for (int d = 0; d < c.words; ++d) {
    if (d % kWordsPerPrefetch<Numbers> == 0) prefetcher.Next();
    F k[kBlocks];
    FT_UNROLL(2)
    for (int b = 0; b < kBlocks; ++b) k[b] = Load(keys + (b * c.depth + d) * kBlockPositions);
    FT_UNROLL(8)
    for (int i = 0; i < kQueries; ++i) {
      const F x = Splat(q[i * c.depth + d]);
      FT_UNROLL(2)
      for (int b = 0; b < kBlocks; ++b) acc[b][i] = Numbers::Product(x, k[b], acc[b][i]);
    }
  }
  float* scores = c.scores + query * kSpan + block * kBlockPositions;
  FT_UNROLL(2)
  for (int b = 0; b < kBlocks; ++b) {
    FT_UNROLL(8)
    for (int i = 0; i < kQueries; ++i) {
      Store(acc[b][i] * Splat(c.scale), scores + i * kSpan + b * kBlockPositions);
    }
  }
}

template <typename Numbers, int kQueries>
FT_INLINE void ScoreQueries(const ScoreCall& c, int blocks, int query, RowPrefetcher& prefetcher) {
  int b = 0;
  for (; b + kScoreBlocks <= blocks; b += kScoreBlocks) {
    ScoreKeys<Numbers, kScoreBlocks, kQueries>(c, b, query, prefetcher);
  }
  for (; b < blocks; ++b) ScoreKeys<Numbers, 1, kQueries>(c, b, query, prefetcher);
}

template <typename Numbers>
void ScoreSpan(const ScoreCall& c, int blocks, int queries, RowPrefetcher& prefetcher) {
  int i = 0;
  for (; i + kScoreQueries <= queries; i += kScoreQueries) {
    ScoreQueries<Numbers, kScoreQueries>(c, blocks, i, prefetcher);
  }
  for (; i < queries; ++i) ScoreQueries<Numbers, 1>(c, blocks, i, prefetcher);
}

// Arguments of MixSpan, which adds weighted sums of values to the results.
struct MixCall {
  const float* values;  // words [positions / kPerWord][padded]
  int positions;
  const float* weights;  // words [queries][kSpan]
  int64_t padded;        // elements of a padded head
  float* out;            // [queries][padded]
};

template <typename Numbers, int kQueries, int kVectors>
FT_INLINE void MixVectors(const MixCall& c, int query, int64_t d, RowPrefetcher& prefetcher) {
  const float* weights = c.weights + query * kSpan;
  float* out = c.out + query * c.padded + d;
  F acc[kQueries][kVectors];
  FT_UNROLL(4)
  for (int i = 0; i < kQueries; ++i) {
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[i][v] = Load(out + i * c.padded + v * kLanes);
  }
  for (int j = 0; j < c.positions / Numbers::kPerWord; ++j) {
    if (j % kWordsPerPrefetch<Numbers> == 0) prefetcher.Next();
    F x[kVectors];
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) x[v] = Load(c.values + j * c.padded + d + v * kLanes);
    FT_UNROLL(4)
    for (int i = 0; i < kQueries; ++i) {
      const F w = Splat(weights[i * kSpan + j]);
      FT_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = Numbers::Product(w, x[v], acc[i][v]);
    }
  }
  FT_UNROLL(4)
  for (int i = 0; i < kQueries; ++i) {
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) Store(acc[i][v], out + i * c.padded + v * kLanes);
  }
}

template <typename Numbers, int kQueries>
FT_INLINE void MixQueries(const MixCall& c, int query, RowPrefetcher& prefetcher) {
  int64_t d = 0;
  for (; d + kMixVectors * kLanes <= c.padded; d += kMixVectors * kLanes) {
    MixVectors<Numbers, kQueries, kMixVectors>(c, query, d, prefetcher);
  }
  for (; d < c.padded; d += kLanes) MixVectors<Numbers, kQueries, 1>(c, query, d, prefetcher);
}

template <typename Numbers>
void MixSpan(const MixCall& c, int queries, RowPrefetcher& prefetcher) {
  int i = 0;
  for (; i + 4 <= queries; i += 4) MixQueries<Numbers, 4>(c, i, prefetcher);
  for (; i < queries; ++i) MixQueries<Numbers, 1>(c, i, prefetcher);
}

}  // namespace foretoken::FT_ISA
