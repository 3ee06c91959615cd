// Attention over one key/value head with AVX-512. Each lane of the scores belongs to a query.
//
// In VectorAttention each lane belongs to a position. That engine therefore transposes the keys; it
// also copies the values. Here the products broadcast keys to the lanes of all queries, and read
// values directly from the cache. Every sum has the same terms in the same order in both engines,
// so results have the same bits.
#pragma once

#include "backend/cpu/attention/attention_kernels.h"

namespace foretoken::FT_ISA {

template <CacheType kCacheType>
struct OfType {
  static constexpr CacheType kType = kCacheType;
};

// Words of one float, for caches of kTypes. A class of words has, in addition to the members of
// Numbers (attention_products.h):
//   Choose(type, f): calls f(OfType<type>()).
//   LoadWords(row, element, word): sixteen words of the head that begins at `element` of a key's
//     cache row, from word `word` of the head on.
//   LoadValues(rows, element, x): kVectors vectors of the values in rows[0] ... rows[kPerWord - 1],
//     from `element` on.
//   StoreWeights(x, to): stores the weights in x's lanes as words, a query's positions together.
template <typename Numbers, CacheType... kTypes>
class FloatWords : public Numbers {
 public:
  template <typename Fn>
  FT_INLINE static void Choose(CacheType type, const Fn& f) {
    ((type == kTypes ? f(OfType<kTypes>()) : void()), ...);
  }
  template <CacheType kType>
  FT_INLINE static F LoadWords(const std::byte* row, int64_t element, int64_t word) {
    return LoadCache<kType>(row, element + word, kLanes);
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

// Attention of all or some queries of a unit. kQueries: the number of lanes that a position takes,
// 4, 8 or 16, one per query. Lane i * kPositions + j % kPositions holds query i at position j. A
// register thus holds kPositions positions, and their keys are interleaved word by word. More than
// 16 queries form groups of 16, each with registers of its own.
template <typename Words, int kHeadDim, int kQueries>
class QueryLanes {
 public:
  // Queries [first, first + queries) of a unit: query i is head i % u.heads of row i / u.heads.
  // REQUIRES: u.head_dim is kHeadDim, u.column a multiple of kPiece; at most kQueries queries where
  // that is less than 16.
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
    mixed_ = pieces.Take<float>(groups_ * kQueries * kHeadDim);
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
    for (int at = begin / kSpan * kSpan; at < count; at += kSpan) {
      ProcessSpan(at, count - at < kSpan ? count - at : kSpan);
    }
    End();
  }

 private:
  static constexpr int kPerWord = Words::kPerWord, kDepth = kHeadDim / kPerWord;
  static constexpr int kPositions = kLanes / kQueries;  // positions of a register
  static constexpr int kBlocksTogether =
      kPositions == 1 ? 1 : 2;                              // blocks that are scored together
  static constexpr int kVectors = kPositions == 1 ? 1 : 2;  // vectors of values read together
  static constexpr int kPiece = 32;                         // divides the column of a head
  // What is processed between two prefetches, each of which fetches one position of the next span:
  // positions whose keys are interleaved, words of scores, and positions whose values are weighted.
  // With these numbers, the whole next span has been prefetched when the current span is done, and
  // memory is never idle.
  static constexpr int kPositionsPerPrefetch = 8,
                       kWordsPerPrefetch = kDepth / (8 * kBlocksTogether);
  static constexpr int kMixedPerPrefetch = kHeadDim * 3 / 32;

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
      Store(Zero(), mixed_ + i);
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
        Store(Load(mixed_ + i * kHeadDim + d) * factor, out + d);
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

  // The index of query i's value for position j in an array of `positions` positions.
  static int64_t At(int i, int j, int positions) {
    return int64_t{i / kQueries} * positions * kQueries + j / kPositions * kLanes +
           i % kQueries * kPositions + j % kPositions;
  }

  // Processes positions [at, at + length) of the span that begins at `at`. No row attends to later
  // positions of the span.
  void ProcessSpan(int at, int length) {
    const int in_run = run_ - at < 0 ? 0 : run_ - at;
    const int common = in_run < length ? in_run : length;  // positions in the run of all rows
    const int positions = (length + kBlockPositions - 1) / kBlockPositions * kBlockPositions;
    prefetcher_.SetRange(at + kSpan, at + 2 * kSpan, run_);
    for (int j = 0; j < common; j += kBlocksTogether * kBlockPositions) ScoreCommon(at, j, common);
    for (int j = common; j < positions; ++j) Hide(j, 0, groups_ * kQueries);
    ScoreTail(at, common, length);
    HideBefore(at, positions);
    for (int g = 0; g < groups_; ++g) {
      Fold(g, positions);
      Mix(g, at, common / kPerWord * kPerWord);
    }
    if (common < kSpan) MixTail(at, common / kPerWord * kPerWord);
  }

  // Scores positions [at + j, at + common), at most kBlocksTogether blocks of them.
  void ScoreCommon(int at, int j, int common) {
    const std::byte* rows[kBlocksTogether * kBlockPositions];
    const std::byte* const first = KeysOf(u_).Row(at);
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

  // Scores positions [at + common, at + length), where a position may be different cache rows for
  // different query rows. Each such cache row is scored for all queries. Its scores are kept only
  // for the query rows that attend to it.
  void ScoreTail(int at, int common, int length) {
    Column columns[kBlockPositions];
    int count = 0;
    for (int j = common; j < length; ++j) {
      int first = count;  // first of the columns at this position
      for (int r = first_row_; r < end_row_; ++r) {
        if (u_.rows[r].count <= at + j) continue;
        const int row = CacheRow(u_, u_.rows[r], at + j);
        bool known = false;
        for (int c = first; c < count; ++c) known = known || columns[c].row == row;
        if (known) continue;
        if (count == kBlockPositions) {
          ScoreColumns(at, columns, count);
          first = count = 0;
        }
        columns[count++] = {j, row};
      }
    }
    if (count > 0) ScoreColumns(at, columns, count);
  }

  // A cache row that some query rows attend to at position `position` of a span.
  struct Column {
    int position, row;
  };
  void ScoreColumns(int at, const Column* columns, int count) {
    const std::byte* rows[kBlockPositions];
    for (int i = 0; i < kBlockPositions; ++i) {
      rows[i] = KeysOf(u_).Row(columns[i < count ? i : count - 1].row);
    }
    ScoreRows<1>(rows, tail_scores_, kBlockPositions);
    for (int c = 0; c < count; ++c) {
      const int j = columns[c].position;
      for (int r = first_row_; r < end_row_; ++r) {
        const AttentionRow& row = u_.rows[r];
        if (row.count <= at + j || CacheRow(u_, row, at + j) != columns[c].row) continue;
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
    Words::Choose(u_.key_type, [&](auto type) {
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
  // The offset at which InterleaveKeys stores word k of sixteen, of the first of kPositions
  // positions.
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

  // Hides position j of a span from queries [first, last).
  void Hide(int j, int first, int last) {
    for (int i = first; i < last; ++i) scores_[At(i, j, kSpan)] = -__builtin_inff();
  }
  void HideBefore(int at, int positions) {
    for (int r = first_row_; r < end_row_; ++r) {
      const int hidden = u_.rows[r].begin - at;
      for (int j = 0; j < hidden && j < positions; ++j) Hide(j, FirstOf(r), EndOf(r));
    }
  }

  // VectorAttention::Fold for all queries of a group at once.
  [[gnu::noinline]] void Fold(int group, int positions) {
    float* const scores = scores_ + int64_t{group} * kSpan * kQueries;
    float* const sums = sums_ + int64_t{group} * kBlockPositions * kQueries;
    const F before = Load(tops_ + group * kLanes);
    // Four maxima, so that four chains of dependent operations overlap.
    F tops[4] = {before, before, before, before};
    for (int j = 0; j < positions * kQueries; j += 4 * kLanes) {
      FT_UNROLL(4)
      for (int k = 0; k < 4; ++k) tops[k] = Max(Load(scores + j + k * kLanes), tops[k]);
    }
    F top = Max(Max(tops[0], tops[1]), Max(tops[2], tops[3])), swapped;
    if (kPositions >= 2) {
      swapped.v[0] = _mm512_permute_ps(top.v[0], 0xb1);
      top = Max(swapped, top);
    }
    if (kPositions == 4) {
      swapped.v[0] = _mm512_permute_ps(top.v[0], 0x4e);
      top = Max(swapped, top);
    }
    if (_mm512_cmp_ps_mask(top.v[0], before.v[0], _CMP_NEQ_UQ) != 0) {
      ScaleDownGroup(group, Exp(before - top));
    }
    Store(top, tops_ + group * kLanes);
    for (int j = 0; j < positions; j += kBlockPositions) {
      prefetcher_.Next();
      prefetcher_.Next();
      FT_UNROLL(4)
      for (int k = 0; k < kBlockPositions / kPositions; ++k) {
        float* const at = scores + j * kQueries + k * kLanes;
        const F x = Words::Power(Load(at) - top);
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
      float* const mixed = mixed_ + (group * kQueries + i) * kHeadDim;
      if (factors[i * kPositions] == 1.0f) continue;
      for (int d = 0; d < kHeadDim; d += kLanes) {
        Store(Load(mixed + d) * Splat(factors[i * kPositions]), mixed + d);
      }
    }
  }

  // The weights of query 0 for positions [j, j + kPerWord); those of query i follow kPositions /
  // kPerWord * i floats later.
  static const float* Weights(const float* weights, int j) {
    return weights + j / kPositions * (kLanes / kPerWord) + j % kPositions / kPerWord;
  }

  // Adds the weighted values of positions [at, at + positions) to a group's results.
  void Mix(int group, int at, int positions) {
    const int left = queries_ - group * kQueries;
    Words::Choose(u_.value_type, [&](auto type) {
      constexpr CacheType kType = decltype(type)::kType;
      if constexpr (kQueries == 4) {
        if (left <= 2) return MixSome<kType, 2>(group, at, positions);
        if (left == 3) return MixSome<kType, 3>(group, at, positions);
        MixSome<kType, 4>(group, at, positions);
      } else if constexpr (kQueries == 8) {
        if (left <= 5) return MixSome<kType, 5>(group, at, positions);
        if (left == 6) return MixSome<kType, 6>(group, at, positions);
        if (left == 7) return MixSome<kType, 7>(group, at, positions);
        MixSome<kType, 8>(group, at, positions);
      } else {
        if (left <= 6) return MixSome<kType, 6>(group, at, positions);
        if (left <= 9) return MixSome<kType, 9>(group, at, positions);
        if (left <= 12) return MixSome<kType, 12>(group, at, positions);
        if (left <= 14) return MixSome<kType, 14>(group, at, positions);
        if (left == 15) return MixSome<kType, 15>(group, at, positions);
        MixSome<kType, 16>(group, at, positions);
      }
    });
  }

  // Mix for the first kSome queries of a group.
  template <CacheType kType, int kSome>
  [[gnu::noinline]] void MixSome(int group, int at, int positions) {
    const float* const all_weights = scores_ + int64_t{group} * kSpan * kQueries;
    const std::byte* const values = ValuesOf(u_).Row(at);
    for (int d = 0; d < kHeadDim; d += kVectors * kLanes) {
      float* const mixed = mixed_ + int64_t{group} * kQueries * kHeadDim + d;
      F acc[kSome][kVectors];
      FT_UNROLL(16)
      for (int i = 0; i < kSome; ++i) {
        FT_UNROLL(2)
        for (int v = 0; v < kVectors; ++v) acc[i][v] = Load(mixed + i * kHeadDim + v * kLanes);
      }
      const std::byte* row = values;
      for (int j = 0; j < positions; j += kPerWord, row += kPerWord * u_.value_row_bytes) {
        if (j % kMixedPerPrefetch == 0) prefetcher_.Next();
        const std::byte* const rows[] = {row, row + u_.value_row_bytes};
        F x[kVectors];
        Words::template LoadValues<kType, kVectors>(rows, u_.column + d, x);
        const float* const weights = Weights(all_weights, j);
        FT_UNROLL(16)
        for (int i = 0; i < kSome; ++i) {
          const F w = Splat(weights[i * (kPositions / kPerWord)]);
          FT_UNROLL(2)
          for (int v = 0; v < kVectors; ++v) acc[i][v] = Words::Product(w, x[v], acc[i][v]);
        }
      }
      FT_UNROLL(16)
      for (int i = 0; i < kSome; ++i) {
        FT_UNROLL(2)
        for (int v = 0; v < kVectors; ++v) Store(acc[i][v], mixed + i * kHeadDim + v * kLanes);
      }
    }
  }

  // Adds each row's weighted values from position at + first on. VectorAttention pads the last
  // block with copies of the values at the row's last position, which have weight zero. Here at
  // most one whole word of such copies is added, because more copies would change nothing.
  void MixTail(int at, int first) {
    for (int r = first_row_; r < end_row_; ++r) {
      const int left = u_.rows[r].count - at;
      const int length = left < kSpan ? left : kSpan;
      const int block_end = (length + kBlockPositions - 1) / kBlockPositions * kBlockPositions;
      const int word_end = (length + kPerWord - 1) / kPerWord * kPerWord + kPerWord;
      const int end = word_end < block_end ? word_end : block_end;
      if (first >= end) continue;
      const std::byte* rows[kSpan];
      for (int j = first; j < end; ++j) {
        rows[j] = BlockRow(u_, u_.rows[r], ValuesOf(u_), at, j);
      }
      Words::Choose(u_.value_type,
                    [&](auto type) { MixOwn<decltype(type)::kType>(r, first, end, rows); });
    }
  }

  // MixTail for row r: the values of positions [at + first, at + end), from rows[first] on.
  template <CacheType kType>
  void MixOwn(int r, int first, int end, const std::byte* const* rows) {
    for (int i = FirstOf(r); i < EndOf(r); ++i) {
      const float* const weights = scores_ + int64_t{i / kQueries} * kSpan * kQueries;
      for (int d = 0; d < kHeadDim; d += kPiece) {
        float* const mixed = mixed_ + i * kHeadDim + d;
        F acc[2] = {Load(mixed), Load(mixed + kLanes)};
        for (int j = first; j < end; j += kPerWord) {
          F x[2];
          Words::template LoadValues<kType, 2>(rows + j, u_.column + d, x);
          const F w = Splat(Weights(weights, j)[i % kQueries * (kPositions / kPerWord)]);
          FT_UNROLL(2)
          for (int v = 0; v < 2; ++v) acc[v] = Words::Product(w, x[v], acc[v]);
        }
        Store(acc[0], mixed);
        Store(acc[1], mixed + kLanes);
      }
    }
  }

  const AttentionUnit& u_;
  int first_, queries_, first_row_, end_row_, groups_;
  int run_ = 0;               // positions below it are the same cache rows for all rows
  RowPrefetcher prefetcher_;  // prefetches the span after the current one
  float* q_;                  // words [groups][kDepth][16]
  float *mixed_, *scores_, *tail_scores_, *sums_, *tops_, *keys_;
  int64_t scratch_;
};

// Calls run(engine) for the engines that cover a unit's queries: one for all groups of sixteen, and
// one for the rest in as few lanes as hold it. With words of two elements, a unit may have at most
// eight queries.
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

// Returns the op of a unit: QueryLanes for heads of 64 or 128 elements whose column is a multiple
// of 32, and Many for all others. In words of two elements, Many also takes units of more than
// eight queries.
template <typename Words, typename Many>
AttentionOp RowsOp(const AttentionUnit& u) {
  if (u.column % 32 == 0 && (Words::kPerWord == 1 || u.row_count * u.heads <= 8)) {
    if (u.head_dim == 64) return QueryLanesOp<Words, 64>();
    if (u.head_dim == 128) return QueryLanesOp<Words, 128>();
  }
  return EngineOp<Many>();
}

}  // namespace foretoken::FT_ISA
