// Attention of a few rows over one key/value head, written once over vec.h.
//
// A query's result is folded span after span of absolute positions: the scores' exact maximum so
// far, the exponentials' sum in lane (position mod 16), ascending, and the values added position by
// position; where the maximum rises, what was summed before is scaled down. Whatever is computed
// beside it, only absolute positions enter, so a committed and a provisional prefix give equal
// bits.
#pragma once

#include "backend/cpu/attention_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/vec.h"
#include "backend/cpu/vec_math.h"

namespace foretoken::FT_ISA {

inline constexpr int kKeys = 16;  // positions of a block
// Positions folded in together: what they are turned into stays in the first cache.
inline constexpr int kSpan = 64;
inline constexpr float kLowest = -3.402823466e38f;

inline int64_t PaddedHead(int head_dim) { return (head_dim + kLanes - 1) / kLanes * kLanes; }

// Positions [from, from + 16) of a row as floats [16][padded head].
template <CacheType kType>
void WidenBlock(const AttentionUnit& u, const AttentionRow& row, const CacheView& cache, int from,
                float* out) {
  for (int j = 0; j < kKeys; ++j, out += PaddedHead(u.head_dim)) {
    AskFor<kType>(u, row, cache, from + j + kRowsAhead);
    const std::byte* in = BlockRow(u, row, cache, from, j);
    for (int d = 0; d < u.head_dim; d += kLanes) {
      Store(LoadCache<kType>(in, u.column + d, u.head_dim - d), out + d);
    }
  }
}

// The same as [padded head][16]: a lane is a position.
template <CacheType kType>
void WidenTransposed(const AttentionUnit& u, const AttentionRow& row, const CacheView& cache,
                     int from, float* out) {
  const std::byte* in[kKeys];
  for (int j = 0; j < kKeys; ++j) {
    AskFor<kType>(u, row, cache, from + j + kRowsAhead);
    in[j] = BlockRow(u, row, cache, from, j);
  }
  for (int d = 0; d < u.head_dim; d += kLanes) {
    F x[kKeys];
    FT_UNROLL(16)
    for (int j = 0; j < kKeys; ++j) x[j] = LoadCache<kType>(in[j], u.column + d, u.head_dim - d);
    StoreTransposed(x, out + d * kKeys);
  }
}

using WidenFn = void (*)(const AttentionUnit&, const AttentionRow&, const CacheView&, int, float*);

// By CacheType.
inline constexpr WidenFn kWidenBlock[] = {WidenBlock<CacheType::kF32>, WidenBlock<CacheType::kF16>,
                                          WidenBlock<CacheType::kBF16>,
                                          WidenBlock<CacheType::kQ8_0>};
inline constexpr WidenFn kWidenTransposed[] = {
    WidenTransposed<CacheType::kF32>, WidenTransposed<CacheType::kF16>,
    WidenTransposed<CacheType::kBF16>, WidenTransposed<CacheType::kQ8_0>};

// What fits the registers: blocks of keys times queries of scores, and vectors of values times
// queries.
inline constexpr int kScoreBlocks = kNative == 16 ? 2 : 1;
inline constexpr int kScoreQueries = kNative == 16 ? 8 : kNative == 8 ? 4 : 2;
inline constexpr int kMixVectors = kNative == 16 ? 4 : 1;

// Queries [padded] whose scores of a span are kSpan apart.
struct ScoreCall {
  const float* keys;  // blocks of [padded][16]
  const float* q;
  int64_t padded;
  int head_dim;
  float scale;
  float* scores;
};

// Sums run over the head's elements in ascending order.
template <int kBlocks, int kQueries>
FT_INLINE void ScoreKeys(const ScoreCall& c, int block, int query) {
  const float* keys = c.keys + block * c.padded * kKeys;
  const float* q = c.q + query * c.padded;
  F acc[kBlocks][kQueries];
  FT_UNROLL(2)
  for (int b = 0; b < kBlocks; ++b) {
    FT_UNROLL(8)
    for (int i = 0; i < kQueries; ++i) acc[b][i] = Zero();
  }
  for (int d = 0; d < c.head_dim; ++d) {
    F k[kBlocks];
    FT_UNROLL(2)
    for (int b = 0; b < kBlocks; ++b) k[b] = Load(keys + (b * c.padded + d) * kKeys);
    FT_UNROLL(8)
    for (int i = 0; i < kQueries; ++i) {
      const F x = Splat(q[i * c.padded + d]);
      FT_UNROLL(2)
      for (int b = 0; b < kBlocks; ++b) acc[b][i] = MulAdd(x, k[b], acc[b][i]);
    }
  }
  float* scores = c.scores + query * kSpan + block * kKeys;
  FT_UNROLL(2)
  for (int b = 0; b < kBlocks; ++b) {
    FT_UNROLL(8)
    for (int i = 0; i < kQueries; ++i) {
      Store(acc[b][i] * Splat(c.scale), scores + i * kSpan + b * kKeys);
    }
  }
}

template <int kQueries>
FT_INLINE void ScoreQueries(const ScoreCall& c, int blocks, int query) {
  int b = 0;
  for (; b + kScoreBlocks <= blocks; b += kScoreBlocks) {
    ScoreKeys<kScoreBlocks, kQueries>(c, b, query);
  }
  for (; b < blocks; ++b) ScoreKeys<1, kQueries>(c, b, query);
}

inline void ScoreSpan(const ScoreCall& c, int blocks, int queries) {
  int i = 0;
  for (; i + kScoreQueries <= queries; i += kScoreQueries) {
    ScoreQueries<kScoreQueries>(c, blocks, i);
  }
  for (; i < queries; ++i) ScoreQueries<1>(c, blocks, i);
}

// Values [padded], each times its query's weight, added to results [padded].
struct MixCall {
  const float* values;  // [positions][padded]
  int positions;
  const float* weights;  // kSpan apart
  int64_t padded;
  float* out;
};

template <int kQueries, int kVectors>
FT_INLINE void MixVectors(const MixCall& c, int query, int64_t d) {
  const float* weights = c.weights + query * kSpan;
  float* out = c.out + query * c.padded + d;
  F acc[kQueries][kVectors];
  FT_UNROLL(4)
  for (int i = 0; i < kQueries; ++i) {
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[i][v] = Load(out + i * c.padded + v * kLanes);
  }
  for (int j = 0; j < c.positions; ++j) {
    F x[kVectors];
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) x[v] = Load(c.values + j * c.padded + d + v * kLanes);
    FT_UNROLL(4)
    for (int i = 0; i < kQueries; ++i) {
      const F w = Splat(weights[i * kSpan + j]);
      FT_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = MulAdd(w, x[v], acc[i][v]);
    }
  }
  FT_UNROLL(4)
  for (int i = 0; i < kQueries; ++i) {
    FT_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) Store(acc[i][v], out + i * c.padded + v * kLanes);
  }
}

template <int kQueries>
FT_INLINE void MixQueries(const MixCall& c, int query) {
  int64_t d = 0;
  for (; d + kMixVectors * kLanes <= c.padded; d += kMixVectors * kLanes) {
    MixVectors<kQueries, kMixVectors>(c, query, d);
  }
  for (; d < c.padded; d += kLanes) MixVectors<kQueries, 1>(c, query, d);
}

inline void MixSpan(const MixCall& c, int queries) {
  int i = 0;
  for (; i + 4 <= queries; i += 4) MixQueries<4>(c, i);
  for (; i < queries; ++i) MixQueries<1>(c, i);
}

// Lanes of the positions [at, at + 16) that are in [begin, count).
FT_INLINE I Seen(int at, int begin, int count) {
  const I position = LaneNumbers() + Splat(at);
  return Greater(position, Splat(begin - 1)) & Greater(Splat(count), position);
}

// The engine of WalkSpans in float arithmetic, for caches of every type.
class FloatAttention {
 public:
  static constexpr int kSpan = FT_ISA::kSpan, kBlock = kKeys;

  explicit FloatAttention(const AttentionUnit& u)
      : u_(u), padded_(PaddedHead(u.head_dim)), queries_(u.row_count * u.heads) {
    ScratchPieces pieces(u.scratch);
    q_ = pieces.Take<float>(queries_ * padded_);
    mixed_ = pieces.Take<float>(queries_ * padded_);
    scores_ = pieces.Take<float>(static_cast<int64_t>(queries_) * kSpan);
    sums_ = pieces.Take<float>(static_cast<int64_t>(queries_) * kLanes);
    tops_ = pieces.Take<float>(queries_);
    keys_ = pieces.Take<float>(kSpan * padded_);
    values_ = pieces.Take<float>(kSpan * padded_);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    for (int i = 0; i < queries_; ++i) {
      const float* q = u_.rows[i / u_.heads].q + i % u_.heads * u_.head_dim;
      for (int d = 0; d < u_.head_dim; d += kLanes) {
        Store(LoadFirst(q + d, u_.head_dim - d), q_ + i * padded_ + d);
        Store(Zero(), mixed_ + i * padded_ + d);
      }
      Store(Zero(), sums_ + i * kLanes);
      tops_[i] = kLowest;
    }
  }

  void Widen(const AttentionRow& row, int from, int index) {
    const int64_t at = index * kKeys * padded_;
    kWidenTransposed[static_cast<int>(u_.key_type)](u_, row, KeysOf(u_), from, keys_ + at);
    kWidenBlock[static_cast<int>(u_.value_type)](u_, row, ValuesOf(u_), from, values_ + at);
  }

  void Attend(int row, int rows, int at, int blocks) {
    const int first = row * u_.heads, queries = rows * u_.heads;
    ScoreSpan({.keys = keys_,
               .q = q_ + first * padded_,
               .padded = padded_,
               .head_dim = u_.head_dim,
               .scale = u_.scale,
               .scores = scores_},
              blocks, queries);
    for (int i = 0; i < queries; ++i) Fold(first + i, at, blocks, scores_ + i * kSpan);
    MixSpan({.values = values_,
             .positions = blocks * kKeys,
             .weights = scores_,
             .padded = padded_,
             .out = mixed_ + first * padded_},
            queries);
  }

  void End() {
    for (int i = 0; i < queries_; ++i) {
      const F factor = Splat(1.0f / Sum(Load(sums_ + i * kLanes)));
      float* out = u_.rows[i / u_.heads].out + i % u_.heads * u_.head_dim;
      for (int d = 0; d < u_.head_dim; d += kLanes) {
        StoreFirst(Load(mixed_ + i * padded_ + d) * factor, out + d, u_.head_dim - d);
      }
    }
  }

 private:
  // Turns the scores of one query's blocks into weights, with zeros where it sees nothing, and
  // brings its sums to the new maximum.
  void Fold(int query, int at, int blocks, float* scores) {
    const AttentionRow& row = u_.rows[query / u_.heads];
    F top = Splat(tops_[query]);
    for (int b = 0; b < blocks; ++b) {
      const int from = at + b * kKeys;
      F x = Load(scores + b * kKeys);
      if (row.begin > from || row.count < from + kKeys) {
        x = Select(Seen(from, row.begin, row.count), x, Splat(-__builtin_inff()));
        Store(x, scores + b * kKeys);
      }
      top = Max(x, top);
    }
    const float highest = MaxLane(top);
    F sum = Load(sums_ + query * kLanes);
    if (highest != tops_[query]) {
      const F factor = Exp(Splat(tops_[query] - highest));
      sum = sum * factor;
      for (int64_t d = 0; d < padded_; d += kLanes) {
        float* to = mixed_ + query * padded_ + d;
        Store(Load(to) * factor, to);
      }
      tops_[query] = highest;
    }
    for (int b = 0; b < blocks; ++b) {
      const F x = Exp(Load(scores + b * kKeys) - Splat(highest));
      Store(x, scores + b * kKeys);
      sum = sum + x;
    }
    Store(sum, sums_ + query * kLanes);
  }

  const AttentionUnit& u_;
  int64_t padded_;
  int queries_;
  float *q_, *mixed_, *scores_, *sums_, *tops_, *keys_, *values_;
  int64_t scratch_;
};

template <typename Engine>
void RunAttention(const AttentionUnit& u) {
  Engine engine(u);
  engine.Begin();
  WalkSpans(u, engine);
  engine.End();
}

template <typename Engine>
int64_t AttentionScratch(const AttentionUnit& u) {
  return Engine(u).scratch();
}

// Probabilities of one query over all its positions. REQUIRES: one row of one head.
class AttentionWeights {
 public:
  static constexpr int kSpan = FT_ISA::kSpan, kBlock = kKeys;

  explicit AttentionWeights(const AttentionUnit& u) : u_(u), padded_(PaddedHead(u.head_dim)) {
    ScratchPieces pieces(u.scratch);
    scores_ = pieces.Take<float>((u.rows[0].count / kSpan + 1) * kSpan);
    q_ = pieces.Take<float>(padded_);
    keys_ = pieces.Take<float>(kSpan * padded_);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    for (int d = 0; d < u_.head_dim; d += kLanes) {
      Store(LoadFirst(u_.rows[0].q + d, u_.head_dim - d), q_ + d);
    }
  }
  void Widen(const AttentionRow& row, int from, int index) {
    float* const to = keys_ + index * kKeys * padded_;
    kWidenTransposed[static_cast<int>(u_.key_type)](u_, row, KeysOf(u_), from, to);
  }
  void Attend(int row, int rows, int at, int blocks) {
    (void)row, (void)rows;
    ScoreSpan({.keys = keys_,
               .q = q_,
               .padded = padded_,
               .head_dim = u_.head_dim,
               .scale = u_.scale,
               .scores = scores_ + at},
              blocks, 1);
  }
  void End() {
    const int count = u_.rows[0].count;
    F top = Splat(-__builtin_inff()), sum = Zero();
    for (int i = 0; i < count; i += kLanes) {
      const F x = Select(Seen(i, 0, count), Load(scores_ + i), Splat(-__builtin_inff()));
      Store(x, scores_ + i);
      top = Max(x, top);
    }
    const F highest = Splat(MaxLane(top));
    for (int i = 0; i < count; i += kLanes) {
      const F x = Exp(Load(scores_ + i) - highest);
      Store(x, scores_ + i);
      sum = sum + x;
    }
    const F factor = Splat(1.0f / Sum(sum));
    for (int i = 0; i < count; i += kLanes) {
      StoreFirst(Load(scores_ + i) * factor, u_.rows[0].out + i, count - i);
    }
  }

 private:
  const AttentionUnit& u_;
  int64_t padded_;
  float *scores_, *q_, *keys_;
  int64_t scratch_;
};

constexpr void FillAttention(Kernels& k) {
  k.attention = {&AttentionScratch<FloatAttention>, &RunAttention<FloatAttention>};
  k.attention_weights = {&AttentionScratch<AttentionWeights>, &RunAttention<AttentionWeights>};
}

}  // namespace foretoken::FT_ISA
