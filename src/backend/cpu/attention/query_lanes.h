// Attention over one key/value head with AVX-512. Each lane of a score vector belongs to a query.
//
// In VectorAttention each lane belongs to a position. That engine therefore transposes the keys; it
// also copies the values. Here the products broadcast the words of keys to the lanes of all
// queries, and values are read directly from the cache. Both engines add the same terms in the same
// order, so results have the same bits.
#pragma once

#include "backend/cpu/attention/attention_kernels.h"

namespace foretoken::FT_ISA {

// Passes a cache type to a generic lambda, as the type of an argument.
template <CacheType kCacheType>
struct CacheTypeTag {
  static constexpr CacheType kType = kCacheType;
};

// The 32-bit words of caches of kTypes, one float each. A class of words, such as this one or
// PairWords (two bf16, pair_numbers.h), has the members of Numbers (attention_products.h) and:
//   DispatchOnType(type, f): calls f(CacheTypeTag<type>()).
//   LoadWords(row, head_begin, word): words [word, word + 16) of the head that begins at element
//     `head_begin` of a key's cache row.
//   LoadValues(rows, element, x): sets x to kVectors vectors of the values in the cache rows
//     rows[0] ... rows[kPerWord - 1], from `element` on; a word holds one element of each row.
//   StoreWeights(x, to): stores the weights in x's lanes as words; a word holds the weights of one
//     query at kPerWord consecutive positions.
template <typename Numbers, CacheType... kTypes>
class FloatWords : public Numbers {
 public:
  template <typename Fn>
  FT_INLINE static void DispatchOnType(CacheType type, const Fn& f) {
    ((type == kTypes ? f(CacheTypeTag<kTypes>()) : void()), ...);
  }
  template <CacheType kType>
  FT_INLINE static F LoadWords(const std::byte* row, int64_t head_begin, int64_t word) {
    return LoadCache<kType>(row, head_begin + word, kLanes);
  }
  template <CacheType kType, int kVectors>
  FT_INLINE static void LoadValues(const std::byte* const* rows, int64_t element, F* x) {
    FT_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      x[v] = LoadCache<kType>(rows[0], element + v * kLanes, kLanes);
    }
  }
  FT_INLINE static void StoreWeights(F x, float* to) { Store(x, to); }
};

// Attention of all or some queries of a unit. A score vector holds kQueries queries, 4, 8 or 16, at
// kPositions = 16 / kQueries positions: lane i * kPositions + j % kPositions is query i at position
// j. The keys of these positions are interleaved word by word. More than 16 queries are processed
// in groups of 16.
template <typename Words, int kHeadDim, int kQueries>
class QueryLanes {
 public:
  // Queries [first, first + queries) of a unit: query i is head i % u.heads of row i / u.heads.
  // REQUIRES: u.head_dim is kHeadDim; u.column is a multiple of kPiece; if kQueries is less than
  // 16, `queries` is at most kQueries.
  QueryLanes(const AttentionUnit& u, int first, int queries)
      : u_(u),
        first_(first),
        queries_(queries),
        first_row_(first / u.heads),
        end_row_((first + queries - 1) / u.heads + 1),
        groups_((queries_ + kQueries - 1) / kQueries),
        prefetcher_(u) {
    ScratchPieces pieces(u.scratch);
    q_ = pieces.Take<float>(groups_ * kDepth * kLanes);
    weighted_values_ = pieces.Take<float>(groups_ * kQueries * kHeadDim);
    scores_ = pieces.Take<float>(groups_ * kSpan * kQueries);
    tail_scores_ = pieces.Take<float>(groups_ * kBlockPositions * kQueries);
    sums_ = pieces.Take<float>(groups_ * kBlockPositions * kQueries);
    tops_ = pieces.Take<float>(groups_ * kLanes);
    keys_ = pieces.Take<float>(kBlocksTogether * kBlockPositions * kDepth);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Run() {
    Begin();
    int begin = u_.rows[first_row_].begin, count = 0;
    run_ = u_.rows[first_row_].run;
    for (int r = first_row_; r < end_row_; ++r) {
      begin = u_.rows[r].begin < begin ? u_.rows[r].begin : begin;
      count = u_.rows[r].count > count ? u_.rows[r].count : count;
      run_ = u_.rows[r].run < run_ ? u_.rows[r].run : run_;
    }
    for (int span_begin = begin / kSpan * kSpan; span_begin < count; span_begin += kSpan) {
      ProcessSpan(span_begin, count - span_begin < kSpan ? count - span_begin : kSpan);
    }
    End();
  }

 private:
  static constexpr int kPerWord = Words::kPerWord, kDepth = kHeadDim / kPerWord;
  static constexpr int kPositions = kLanes / kQueries;  // positions per vector
  static constexpr int kBlocksTogether =
      kPositions == 1 ? 1 : 2;                              // blocks that are scored together
  static constexpr int kVectors = kPositions == 1 ? 1 : 2;  // vectors of values read together
  static constexpr int kPiece = 32;                         // divides u.column
  // How much is processed between two prefetches: positions in ScoreRows, words of the head in
  // Score, and positions in MixFirstQueries. Each prefetch fetches one position of the next span.
  // With these values, the whole next span has been prefetched when the current span is done, and
  // memory is never idle.
  static constexpr int kPositionsPerPrefetch = 8,
                       kWordsPerPrefetch = kDepth / (8 * kBlocksTogether);
  static constexpr int kValuesPerPrefetch = kHeadDim * 3 / 32;

  void Begin() {
    for (int64_t i = 0; i < int64_t{groups_} * kDepth * kLanes; i += kLanes) Store(Zero(), q_ + i);
    for (int i = 0; i < queries_; ++i) {
      const float* q = RowOf(i).q + HeadOf(i) * kHeadDim;
      float* const lanes = q_ + int64_t{i / kQueries} * kDepth * kLanes + i % kQueries * kPositions;
      for (int d = 0; d < kHeadDim; d += kLanes * kPerWord) {
        float words[kLanes];
        Store(Words::LoadQuery(q + d, kHeadDim - d), words);
        for (int k = 0; k < kLanes; ++k) {
          for (int j = 0; j < kPositions; ++j) lanes[(d / kPerWord + k) * kLanes + j] = words[k];
        }
      }
    }
    for (int64_t i = 0; i < int64_t{groups_} * kQueries * kHeadDim; i += kLanes) {
      Store(Zero(), weighted_values_ + i);
    }
    for (int i = 0; i < groups_ * kBlockPositions * kQueries; i += kLanes) Store(Zero(), sums_ + i);
    for (int i = 0; i < groups_; ++i) Store(Splat(kLowest), tops_ + i * kLanes);
  }

  void End() {
    for (int i = 0; i < queries_; ++i) {
      float lanes[kBlockPositions];
      for (int j = 0; j < kBlockPositions; ++j) lanes[j] = sums_[At(i, j, kBlockPositions)];
      const F factor = Splat(1.0f / Sum(Load(lanes)));
      float* out = RowOf(i).out + HeadOf(i) * kHeadDim;
      for (int d = 0; d < kHeadDim; d += kLanes) {
        Store(Load(weighted_values_ + i * kHeadDim + d) * factor, out + d);
      }
    }
  }

  const AttentionRow& RowOf(int i) const { return u_.rows[(first_ + i) / u_.heads]; }
  int HeadOf(int i) const { return (first_ + i) % u_.heads; }
  // The queries of row r are [FirstOf(r), EndOf(r)).
  int FirstOf(int r) const {
    const int i = r * u_.heads - first_;
    return i < 0 ? 0 : i;
  }
  int EndOf(int r) const {
    const int i = (r + 1) * u_.heads - first_;
    return i < queries_ ? i : queries_;
  }

  // The index of query i at position j in an array of score vectors, in which each group has room
  // for `positions` positions.
  static int64_t At(int i, int j, int positions) {
    return int64_t{i / kQueries} * positions * kQueries + j / kPositions * kLanes +
           i % kQueries * kPositions + j % kPositions;
  }

  // Processes the first `length` positions of the span at `span_begin`. No row attends to its later
  // positions. Positions before a row's `begin` are masked.
  void ProcessSpan(int span_begin, int length) {
    const int in_run = run_ - span_begin < 0 ? 0 : run_ - span_begin;
    const int common = in_run < length ? in_run : length;  // positions in the runs of all rows
    const int positions = (length + kBlockPositions - 1) / kBlockPositions * kBlockPositions;
    prefetcher_.SetRange(span_begin + kSpan, span_begin + 2 * kSpan, run_);
    for (int j = 0; j < common; j += kBlocksTogether * kBlockPositions)
      ScoreCommon(span_begin, j, common);
    for (int j = common; j < positions; ++j) Mask(j, 0, groups_ * kQueries);
    ScoreTail(span_begin, common, length);
    MaskBefore(span_begin, positions);
    for (int g = 0; g < groups_; ++g) {
      UpdateSoftmax(g, positions);
      Mix(g, span_begin, common / kPerWord * kPerWord);
    }
    if (common < kSpan) MixTail(span_begin, common / kPerWord * kPerWord);
  }

  // Scores positions [span_begin + j, span_begin + common), at most kBlocksTogether blocks of them.
  void ScoreCommon(int span_begin, int j, int common) {
    const std::byte* rows[kBlocksTogether * kBlockPositions];
    const std::byte* const first = KeysOf(u_).Row(span_begin);
    for (int i = 0; i < kBlocksTogether * kBlockPositions; ++i) {
      const int position = j + i < common ? j + i : common - 1;
      rows[i] = first + position * u_.key_row_bytes;
    }
    if (kBlocksTogether == 1 || common - j <= kBlockPositions) {
      ScoreRows<1>(rows, scores_ + j * kQueries, kSpan);
    } else {
      ScoreRows<kBlocksTogether>(rows, scores_ + j * kQueries, kSpan);
    }
  }

  // Scores positions [span_begin + common, span_begin + length), whose cache rows may differ
  // between query rows (branches of a tree). Each distinct cache row is scored for all queries. Its
  // scores are kept only for the query rows that attend to it.
  void ScoreTail(int span_begin, int common, int length) {
    TailKey keys[kBlockPositions];
    int count = 0;
    for (int j = common; j < length; ++j) {
      int first = count;  // first of the keys at this position
      for (int r = first_row_; r < end_row_; ++r) {
        if (u_.rows[r].count <= span_begin + j) continue;
        const int row = CacheRow(u_, u_.rows[r], span_begin + j);
        bool known = false;
        for (int c = first; c < count; ++c) known = known || keys[c].cache_row == row;
        if (known) continue;
        if (count == kBlockPositions) {
          ScoreTailKeys(span_begin, keys, count);
          first = count = 0;
        }
        keys[count++] = {j, row};
      }
    }
    if (count > 0) ScoreTailKeys(span_begin, keys, count);
  }

  // A cache row that some query rows attend to at position span_begin + `position`.
  struct TailKey {
    int position, cache_row;
  };
  void ScoreTailKeys(int span_begin, const TailKey* keys, int count) {
    const std::byte* rows[kBlockPositions];
    for (int i = 0; i < kBlockPositions; ++i) {
      rows[i] = KeysOf(u_).Row(keys[i < count ? i : count - 1].cache_row);
    }
    ScoreRows<1>(rows, tail_scores_, kBlockPositions);
    for (int c = 0; c < count; ++c) {
      const int j = keys[c].position;
      for (int r = first_row_; r < end_row_; ++r) {
        const AttentionRow& row = u_.rows[r];
        if (row.count <= span_begin + j || CacheRow(u_, row, span_begin + j) != keys[c].cache_row)
          continue;
        for (int i = FirstOf(r); i < EndOf(r); ++i) {
          scores_[At(i, j, kSpan)] = tail_scores_[At(i, c, kBlockPositions)];
        }
      }
    }
  }

  // Computes the scores of all groups' queries for kBlocks blocks of keys. A group has room for
  // `positions` positions in `scores`.
  template <int kBlocks>
  FT_INLINE void ScoreRows(const std::byte* const* rows, float* scores, int positions) {
    Words::DispatchOnType(u_.key_type, [&](auto type) {
      for (int j = 0; j < kBlocks * kBlockPositions; j += kPositions) {
        if (j % kPositionsPerPrefetch == 0) prefetcher_.Next();
        InterleaveKeys<decltype(type)::kType>(rows + j, keys_ + j * kDepth);
      }
    });
    for (int g = 0; g < groups_; ++g) {
      Score<kBlocks>(q_ + int64_t{g} * kDepth * kLanes, scores + int64_t{g} * positions * kQueries);
    }
  }

  // Stores the keys of kPositions positions interleaved word by word, in the order in which
  // unpacking leaves the words.
  template <CacheType kType>
  FT_INLINE void InterleaveKeys(const std::byte* const* rows, float* to) const {
    FT_UNROLL(8)
    for (int d = 0; d < kDepth; d += kLanes, to += kPositions * kLanes) {
      __m512 x[4];
      FT_UNROLL(4)
      for (int j = 0; j < kPositions; ++j) {
        x[j] = Words::template LoadWords<kType>(rows[j], u_.column, d).v[0];
      }
      if (kPositions == 1) {
        _mm512_storeu_ps(to, x[0]);
      } else if (kPositions == 2) {
        _mm512_storeu_ps(to, _mm512_unpacklo_ps(x[0], x[1]));
        _mm512_storeu_ps(to + kLanes, _mm512_unpackhi_ps(x[0], x[1]));
      } else {
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(x[0], x[1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(x[0], x[1]));
        const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(x[2], x[3]));
        const __m512d e = _mm512_castps_pd(_mm512_unpackhi_ps(x[2], x[3]));
        _mm512_storeu_pd(to, _mm512_unpacklo_pd(a, c));
        _mm512_storeu_pd(to + kLanes, _mm512_unpackhi_pd(a, c));
        _mm512_storeu_pd(to + 2 * kLanes, _mm512_unpacklo_pd(b, e));
        _mm512_storeu_pd(to + 3 * kLanes, _mm512_unpackhi_pd(b, e));
      }
    }
  }
  // InterleaveKeys stores sixteen words of each of kPositions positions at a time. Returns the
  // offset among them of the first position's word k, which word k of each other position follows.
  static constexpr int WordAt(int k) {
    if (kPositions == 1) return k;
    if (kPositions == 2) return k % 4 / 2 * kLanes + k / 4 * 4 + k % 2 * 2;
    return k % 4 * kLanes + k / 4 * 4;
  }
  // Repeats kPositions floats across the lanes.
  FT_INLINE static F SpreadWord(const float* p) {
    F x;
    if constexpr (kPositions == 1) {
      x = Splat(*p);
    } else if constexpr (kPositions == 2) {
      double two;
      __builtin_memcpy(&two, p, sizeof(two));
      x.v[0] = _mm512_castpd_ps(_mm512_set1_pd(two));
    } else {
      x.v[0] = _mm512_broadcast_f32x4(_mm_loadu_ps(p));
    }
    return x;
  }

  // Functions are marked noinline where the compiler would otherwise keep their sums in memory.

  template <int kBlocks>
  [[gnu::noinline]] void Score(const float* q, float* scores) {
    constexpr int kRegisters = kBlocks * kBlockPositions / kPositions;
    const float* keys = keys_;
    F acc[kRegisters];
    FT_UNROLL(16)
    for (int i = 0; i < kRegisters; ++i) acc[i] = Zero();
    for (int d = 0; d < kDepth; d += kLanes, keys += kPositions * kLanes) {
      FT_UNROLL(16)
      for (int k = 0; k < kLanes; ++k, q += kLanes) {
        if (k % kWordsPerPrefetch == 0) prefetcher_.Next();
        const F words = Load(q);
        FT_UNROLL(16)
        for (int i = 0; i < kRegisters; ++i) {
          acc[i] =
              Words::Product(words, SpreadWord(keys + i * kPositions * kDepth + WordAt(k)), acc[i]);
        }
      }
    }
    FT_UNROLL(16)
    for (int i = 0; i < kRegisters; ++i) Store(acc[i] * Splat(u_.scale), scores + i * kLanes);
  }

  // Masks position j of a span for queries [first, last).
  void Mask(int j, int first, int last) {
    for (int i = first; i < last; ++i) scores_[At(i, j, kSpan)] = -__builtin_inff();
  }
  // Masks the span's positions before each row's `begin`.
  void MaskBefore(int span_begin, int positions) {
    for (int r = first_row_; r < end_row_; ++r) {
      const int masked = u_.rows[r].begin - span_begin;
      for (int j = 0; j < masked && j < positions; ++j) Mask(j, FirstOf(r), EndOf(r));
    }
  }

  // Turns a group's scores into weights, and rescales the group's sums to the new maxima. The
  // arithmetic is that of VectorAttention::UpdateSoftmax, for all queries of the group at once.
  [[gnu::noinline]] void UpdateSoftmax(int group, int positions) {
    float* const scores = scores_ + int64_t{group} * kSpan * kQueries;
    float* const sums = sums_ + int64_t{group} * kBlockPositions * kQueries;
    const F old_tops = Load(tops_ + group * kLanes);
    // Four maxima, so that four chains of dependent operations overlap.
    F maxima[4] = {old_tops, old_tops, old_tops, old_tops};
    for (int j = 0; j < positions * kQueries; j += 4 * kLanes) {
      FT_UNROLL(4)
      for (int k = 0; k < 4; ++k) maxima[k] = Max(Load(scores + j + k * kLanes), maxima[k]);
    }
    F new_tops = Max(Max(maxima[0], maxima[1]), Max(maxima[2], maxima[3])), swapped;
    if (kPositions >= 2) {
      swapped.v[0] = _mm512_permute_ps(new_tops.v[0], 0xb1);
      new_tops = Max(swapped, new_tops);
    }
    if (kPositions == 4) {
      swapped.v[0] = _mm512_permute_ps(new_tops.v[0], 0x4e);
      new_tops = Max(swapped, new_tops);
    }
    if (_mm512_cmp_ps_mask(new_tops.v[0], old_tops.v[0], _CMP_NEQ_UQ) != 0) {
      ScaleDownGroup(group, Exp(old_tops - new_tops));
    }
    Store(new_tops, tops_ + group * kLanes);
    for (int j = 0; j < positions; j += kBlockPositions) {
      prefetcher_.Next();
      prefetcher_.Next();
      FT_UNROLL(4)
      for (int k = 0; k < kBlockPositions / kPositions; ++k) {
        float* const from = scores + j * kQueries + k * kLanes;
        const F x = Words::Power(Load(from) - new_tops);
        Words::StoreWeights(x, scores + (j * kQueries + k * kLanes) / kPerWord);
        Store(Load(sums + k * kLanes) + x, sums + k * kLanes);
      }
    }
  }

  // Scales a group's sums down to new maxima, by a factor for each query.
  void ScaleDownGroup(int group, F factor) {
    float* const sums = sums_ + int64_t{group} * kBlockPositions * kQueries;
    for (int j = 0; j < kBlockPositions * kQueries; j += kLanes) {
      Store(Load(sums + j) * factor, sums + j);
    }
    float factors[kLanes];
    Store(factor, factors);
    for (int i = 0; i < kQueries; ++i) {
      float* const weighted = weighted_values_ + (group * kQueries + i) * kHeadDim;
      if (factors[i * kPositions] == 1.0f) continue;
      for (int d = 0; d < kHeadDim; d += kLanes) {
        Store(Load(weighted + d) * Splat(factors[i * kPositions]), weighted + d);
      }
    }
  }

  // The weights of query 0 for positions [j, j + kPerWord); those of query i follow kPositions /
  // kPerWord * i floats later.
  static const float* Weights(const float* weights, int j) {
    return weights + j / kPositions * (kLanes / kPerWord) + j % kPositions / kPerWord;
  }

  // Adds the weighted values of positions [span_begin, span_begin + positions) to a group's
  // results. The number of queries is rounded up to one that MixFirstQueries is instantiated for;
  // the sums of the extra queries are never read.
  void Mix(int group, int span_begin, int positions) {
    const int left = queries_ - group * kQueries;
    Words::DispatchOnType(u_.value_type, [&](auto type) {
      constexpr CacheType kType = decltype(type)::kType;
      if constexpr (kQueries == 4) {
        if (left <= 2) return MixFirstQueries<kType, 2>(group, span_begin, positions);
        if (left == 3) return MixFirstQueries<kType, 3>(group, span_begin, positions);
        MixFirstQueries<kType, 4>(group, span_begin, positions);
      } else if constexpr (kQueries == 8) {
        if (left <= 5) return MixFirstQueries<kType, 5>(group, span_begin, positions);
        if (left == 6) return MixFirstQueries<kType, 6>(group, span_begin, positions);
        if (left == 7) return MixFirstQueries<kType, 7>(group, span_begin, positions);
        MixFirstQueries<kType, 8>(group, span_begin, positions);
      } else {
        if (left <= 6) return MixFirstQueries<kType, 6>(group, span_begin, positions);
        if (left <= 9) return MixFirstQueries<kType, 9>(group, span_begin, positions);
        if (left <= 12) return MixFirstQueries<kType, 12>(group, span_begin, positions);
        if (left <= 14) return MixFirstQueries<kType, 14>(group, span_begin, positions);
        if (left == 15) return MixFirstQueries<kType, 15>(group, span_begin, positions);
        MixFirstQueries<kType, 16>(group, span_begin, positions);
      }
    });
  }

  // Mix for the first kFirstQueries queries of a group.
  template <CacheType kType, int kFirstQueries>
  [[gnu::noinline]] void MixFirstQueries(int group, int span_begin, int positions) {
    const float* const all_weights = scores_ + int64_t{group} * kSpan * kQueries;
    const std::byte* const values = ValuesOf(u_).Row(span_begin);
    for (int d = 0; d < kHeadDim; d += kVectors * kLanes) {
      float* const weighted = weighted_values_ + int64_t{group} * kQueries * kHeadDim + d;
      F acc[kFirstQueries][kVectors];
      FT_UNROLL(16)
      for (int i = 0; i < kFirstQueries; ++i) {
        FT_UNROLL(2)
        for (int v = 0; v < kVectors; ++v) acc[i][v] = Load(weighted + i * kHeadDim + v * kLanes);
      }
      const std::byte* row = values;
      for (int j = 0; j < positions; j += kPerWord, row += kPerWord * u_.value_row_bytes) {
        if (j % kValuesPerPrefetch == 0) prefetcher_.Next();
        const std::byte* const rows[] = {row, row + u_.value_row_bytes};
        F x[kVectors];
        Words::template LoadValues<kType, kVectors>(rows, u_.column + d, x);
        const float* const weights = Weights(all_weights, j);
        FT_UNROLL(16)
        for (int i = 0; i < kFirstQueries; ++i) {
          const F w = Splat(weights[i * (kPositions / kPerWord)]);
          FT_UNROLL(2)
          for (int v = 0; v < kVectors; ++v) acc[i][v] = Words::Product(w, x[v], acc[i][v]);
        }
      }
      FT_UNROLL(16)
      for (int i = 0; i < kFirstQueries; ++i) {
        FT_UNROLL(2)
        for (int v = 0; v < kVectors; ++v) Store(acc[i][v], weighted + i * kHeadDim + v * kLanes);
      }
    }
  }

  // Adds each row's weighted values from position span_begin + first on. VectorAttention fills the
  // last block with copies of the values at the row's last position, and their weights are zero.
  // Here the last word is filled with such copies, and at most one word of copies alone follows:
  // further words would change nothing.
  void MixTail(int span_begin, int first) {
    for (int r = first_row_; r < end_row_; ++r) {
      const int left = u_.rows[r].count - span_begin;
      const int length = left < kSpan ? left : kSpan;
      const int block_end = (length + kBlockPositions - 1) / kBlockPositions * kBlockPositions;
      const int word_end = (length + kPerWord - 1) / kPerWord * kPerWord + kPerWord;
      const int end = word_end < block_end ? word_end : block_end;
      if (first >= end) continue;
      const std::byte* rows[kSpan];
      for (int j = first; j < end; ++j) {
        rows[j] = BlockRow(u_, u_.rows[r], ValuesOf(u_), span_begin, j);
      }
      Words::DispatchOnType(u_.value_type, [&](auto type) {
        MixTailOfRow<decltype(type)::kType>(r, first, end, rows);
      });
    }
  }

  // MixTail for row r: adds the weighted values of positions [span_begin + first, span_begin +
  // end), which lie in the cache rows rows[first] ... rows[end - 1].
  template <CacheType kType>
  void MixTailOfRow(int r, int first, int end, const std::byte* const* rows) {
    for (int i = FirstOf(r); i < EndOf(r); ++i) {
      const float* const weights = scores_ + int64_t{i / kQueries} * kSpan * kQueries;
      for (int d = 0; d < kHeadDim; d += kPiece) {
        float* const weighted = weighted_values_ + i * kHeadDim + d;
        F acc[2] = {Load(weighted), Load(weighted + kLanes)};
        for (int j = first; j < end; j += kPerWord) {
          F x[2];
          Words::template LoadValues<kType, 2>(rows + j, u_.column + d, x);
          const F w = Splat(Weights(weights, j)[i % kQueries * (kPositions / kPerWord)]);
          FT_UNROLL(2)
          for (int v = 0; v < 2; ++v) acc[v] = Words::Product(w, x[v], acc[v]);
        }
        Store(acc[0], weighted);
        Store(acc[1], weighted + kLanes);
      }
    }
  }

  const AttentionUnit& u_;
  int first_, queries_, first_row_, end_row_, groups_;
  int run_ = 0;               // positions below it lie in the runs of all rows
  RowPrefetcher prefetcher_;  // prefetches the span after the current one
  // Words: q_ [groups][kDepth][16]; keys_ of up to kBlocksTogether blocks (InterleaveKeys). Score
  // vectors (At): scores_ of a span, which its weights overwrite; tail_scores_ of one block; sums_
  // of the weights, with position p in place p % 16. tops_ [groups][16]: the running maximum of
  // each lane's query. weighted_values_ [queries][kHeadDim].
  float* q_;
  float *weighted_values_, *scores_, *tail_scores_, *sums_, *tops_, *keys_;
  int64_t scratch_;
};

// Calls run(engine) for each engine that a unit's queries need: one for all groups of sixteen, the
// last of which may have as few as nine, and the narrowest that fits for a rest of at most eight.
// REQUIRES: at most eight queries if a word holds two elements.
template <typename Words, int kHeadDim, typename Run>
FT_INLINE void EachEngine(const AttentionUnit& u, const Run& run) {
  const int queries = u.row_count * u.heads, left = queries % kLanes;
  int first = 0;
  if constexpr (Words::kPerWord == 1) {
    if (queries > 8) {
      first = left > 8 ? queries : queries - left;
      run(QueryLanes<Words, kHeadDim, 16>(u, 0, first));
    }
  }
  const int few = queries - first;
  if (few > 4) {
    run(QueryLanes<Words, kHeadDim, 8>(u, first, few));
  } else if (few > 0) {
    run(QueryLanes<Words, kHeadDim, 4>(u, first, few));
  }
}

template <typename Words, int kHeadDim>
constexpr AttentionOp QueryLanesOp() {
  return {[](const AttentionUnit& u) {
            int64_t most = 0;
            EachEngine<Words, kHeadDim>(u, [&](const auto& engine) {
              most = engine.scratch() > most ? engine.scratch() : most;
            });
            return most;
          },
          [](const AttentionUnit& u) {
            EachEngine<Words, kHeadDim>(u, [](auto&& engine) { engine.Run(); });
          }};
}

// Returns the op for a unit: that of QueryLanes for heads of 64 or 128 elements whose column is a
// multiple of 32, and that of the engine Fallback for all others. If a word holds two elements,
// Fallback also takes units of more than eight queries.
template <typename Words, typename Fallback>
AttentionOp QueryLanesOpOr(const AttentionUnit& u) {
  if (u.column % 32 == 0 && (Words::kPerWord == 1 || u.row_count * u.heads <= 8)) {
    if (u.head_dim == 64) return QueryLanesOp<Words, 64>();
    if (u.head_dim == 128) return QueryLanesOp<Words, 128>();
  }
  return EngineOp<Fallback>();
}

}  // namespace foretoken::FT_ISA
