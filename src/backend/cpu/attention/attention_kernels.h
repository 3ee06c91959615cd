// Attention of a few rows over one key/value head. The code is written once, with the vectors of
// vec.h, and compiled for each instruction set.
//
// The softmax is computed online, span by span of absolute positions, in ascending order. A query
// keeps the exact maximum of its scores so far, the sum of their exponentials (position p in lane p
// mod 16), and the sum of weighted values, added position by position. When the maximum rises,
// these sums are scaled down. The order of all sums depends on absolute positions only, whatever
// else a call computes, so a committed and a provisional prefix give equal bits.
#pragma once

#include "backend/cpu/attention/attention_products.h"
#include "backend/cpu/isa/vec_math.h"

namespace foretoken::FT_ISA {

inline constexpr float kLowest = -3.402823466e38f;

// A mask of the positions [from, from + 16) that are in [begin, count).
FT_INLINE I AttendedLanes(int from, int begin, int count) {
  const I position = LaneNumbers() + Splat(from);
  return Greater(position, Splat(begin - 1)) & Greater(Splat(count), position);
}

// Sets the scores of a span's blocks to -infinity at positions that the query's row does not attend
// to. Returns the largest score in each lane, or `top` where `top` is larger.
FT_INLINE F MaskUnattended(const AttentionRow& row, int span_begin, int blocks, F top,
                           float* scores) {
  for (int b = 0; b < blocks; ++b) {
    const int from = span_begin + b * kBlockPositions;
    F x = Load(scores + b * kBlockPositions);
    if (row.begin > from || row.count < from + kBlockPositions) {
      x = Select(AttendedLanes(from, row.begin, row.count), x, Splat(-__builtin_inff()));
      Store(x, scores + b * kBlockPositions);
    }
    top = Max(x, top);
  }
  return top;
}

// Scales a query's sums of exponentials [16] and of n weighted values down to a new maximum.
FT_INLINE void ScaleDown(F factor, float* sums, float* weighted_values, int64_t n) {
  Store(Load(sums) * factor, sums);
  for (int64_t d = 0; d < n; d += kLanes)
    Store(Load(weighted_values + d) * factor, weighted_values + d);
}

// The engine of WalkSpans for the vector unit; each lane of the scores is a position.
template <typename Numbers>
class VectorAttention {
 public:
  static constexpr int kSpan = FT_ISA::kSpan, kBlock = kBlockPositions;

  explicit VectorAttention(const AttentionUnit& u)
      : u_(u),
        padded_(PaddedHead<Numbers>(u.head_dim)),
        depth_(padded_ / kPerWord),
        queries_(u.row_count * u.heads),
        prefetcher_(u) {
    ScratchPieces pieces(u.scratch);
    q_ = pieces.Take<float>(queries_ * depth_);
    weighted_values_ = pieces.Take<float>(queries_ * padded_);
    scores_ = pieces.Take<float>(int64_t{kQueriesTogether} * kSpan);
    sums_ = pieces.Take<float>(static_cast<int64_t>(queries_) * kLanes);
    tops_ = pieces.Take<float>(queries_);
    keys_ = pieces.Take<float>(kSpan * depth_);
    values_ = pieces.Take<float>(kSpan * depth_);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    for (int i = 0; i < queries_; ++i) {
      const float* q = u_.rows[i / u_.heads].q + i % u_.heads * u_.head_dim;
      for (int d = 0; d < u_.head_dim; d += kLanes * kPerWord) {
        Store(Numbers::LoadQuery(q + d, u_.head_dim - d), q_ + i * depth_ + d / kPerWord);
      }
      for (int64_t d = 0; d < padded_; d += kLanes)
        Store(Zero(), weighted_values_ + i * padded_ + d);
      Store(Zero(), sums_ + i * kLanes);
      tops_[i] = kLowest;
    }
  }

  void Widen(const AttentionRow& row, int from, int index) {
    const int64_t offset = index * kBlockPositions * depth_;
    if (index == 0) prefetcher_.SetRange(from + kSpan, from + 2 * kSpan, row.run);
    Numbers::WidenKeys(u_, row, from, prefetcher_, keys_ + offset);
    Numbers::WidenValues(u_, row, from, prefetcher_, values_ + offset);
  }

  void Attend(int row, int rows, int span_begin, int blocks) {
    const int last = (row + rows) * u_.heads;
    for (int first = row * u_.heads; first < last; first += kQueriesTogether) {
      const int queries = last - first < kQueriesTogether ? last - first : kQueriesTogether;
      ScoreSpan<Numbers>({.keys = keys_,
                          .q = q_ + first * depth_,
                          .depth = depth_,
                          .words = (u_.head_dim + kPerWord - 1) / kPerWord,
                          .scale = u_.scale,
                          .scores = scores_},
                         blocks, queries, prefetcher_);
      UpdateSoftmax(first, queries, span_begin, blocks);
      MixSpan<Numbers>({.values = values_,
                        .positions = blocks * kBlockPositions,
                        .weights = scores_,
                        .padded = padded_,
                        .out = weighted_values_ + first * padded_},
                       queries, prefetcher_);
    }
  }

  void End() {
    for (int i = 0; i < queries_; ++i) {
      const F factor = Splat(1.0f / Sum(Load(sums_ + i * kLanes)));
      float* out = u_.rows[i / u_.heads].out + i % u_.heads * u_.head_dim;
      for (int d = 0; d < u_.head_dim; d += kLanes) {
        StoreFirst(Load(weighted_values_ + i * padded_ + d) * factor, out + d, u_.head_dim - d);
      }
    }
  }

 private:
  static constexpr int kPerWord = Numbers::kPerWord;
  // Queries that are processed together: few enough that their scores stay in the L1 cache.
  static constexpr int kQueriesTogether = 8;

  // Turns the scores of some queries into weights, zero at positions that a query does not attend
  // to, and rescales the queries' sums to the new maxima. Each step is done for all queries before
  // the next step: the steps of one query depend on one another, while those of different queries
  // overlap.
  void UpdateSoftmax(int first, int queries, int span_begin, int blocks) {
    float highest[kQueriesTogether];
    for (int i = 0; i < queries; ++i) {
      const int query = first + i;
      highest[i] = MaxLane(MaskUnattended(u_.rows[query / u_.heads], span_begin, blocks,
                                          Splat(tops_[query]), scores_ + i * kSpan));
    }
    for (int i = 0; i < queries; ++i) {
      const int query = first + i;
      if (highest[i] == tops_[query]) continue;
      ScaleDown(Exp(Splat(tops_[query] - highest[i])), sums_ + query * kLanes,
                weighted_values_ + query * padded_, padded_);
      tops_[query] = highest[i];
    }
    for (int i = 0; i < queries; ++i) {
      float* const scores = scores_ + i * kSpan;
      F sum = Load(sums_ + (first + i) * kLanes);
      for (int b = 0; b < blocks; ++b) {
        const F x = Numbers::Power(Load(scores + b * kBlockPositions) - Splat(highest[i]));
        Numbers::StoreWeights(x, scores, b);
        sum = sum + x;
      }
      Store(sum, sums_ + (first + i) * kLanes);
    }
  }

  const AttentionUnit& u_;
  int64_t padded_, depth_;  // elements and words of a padded head
  int queries_;
  RowPrefetcher prefetcher_;
  float *q_, *weighted_values_, *scores_, *sums_, *tops_, *keys_, *values_;
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

// The op that computes attention with an engine.
template <typename Engine>
constexpr AttentionOp EngineOp() {
  return {&AttentionScratch<Engine>, &RunAttention<Engine>};
}

// The op that computes each unit with the op that kChoose returns for it.
template <AttentionOp (*kChoose)(const AttentionUnit&)>
constexpr AttentionOp ChosenOp() {
  return {[](const AttentionUnit& u) { return kChoose(u).scratch(u); },
          [](const AttentionUnit& u) { kChoose(u).run(u); }};
}

// An engine of WalkSpans that computes the attention probabilities of one query over all its
// positions. REQUIRES: one row of one head.
class AttentionWeights {
 public:
  static constexpr int kSpan = FT_ISA::kSpan, kBlock = kBlockPositions;

  explicit AttentionWeights(const AttentionUnit& u)
      : u_(u), padded_(PaddedHead<FloatNumbers>(u.head_dim)), prefetcher_(u) {
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
    if (index == 0) prefetcher_.SetRange(from + kSpan, from + 2 * kSpan, row.run);
    FloatNumbers::WidenKeys(u_, row, from, prefetcher_, keys_ + index * kBlockPositions * padded_);
  }
  void Attend(int row, int rows, int span_begin, int blocks) {
    (void)row, (void)rows;
    ScoreSpan<FloatNumbers>({.keys = keys_,
                             .q = q_,
                             .depth = padded_,
                             .words = u_.head_dim,
                             .scale = u_.scale,
                             .scores = scores_ + span_begin},
                            blocks, 1, prefetcher_);
  }
  void End() {
    const int count = u_.rows[0].count;
    F top = Splat(-__builtin_inff()), sum = Zero();
    for (int i = 0; i < count; i += kLanes) {
      const F x = Select(AttendedLanes(i, 0, count), Load(scores_ + i), Splat(-__builtin_inff()));
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
  RowPrefetcher prefetcher_;
  float *scores_, *q_, *keys_;
  int64_t scratch_;
};

constexpr void FillAttention(Kernels& k) {
  k.attention = EngineOp<VectorAttention<FloatNumbers>>();
  k.few_queries = 8;
  k.attention_weights = EngineOp<AttentionWeights>();
}

}  // namespace foretoken::FT_ISA
