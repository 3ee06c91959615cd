// Attention of one row over one key/value head, with AVX-512: what plain decoding needs.
//
// A lane of the scores is a query head, and values are multiplied where they lie in a cache:
// VectorAttention would transpose keys and copy values for this one row. Every sum has the same
// terms in the same order, so results have the same bits.
#pragma once

#include "backend/cpu/attention_kernels.h"

namespace foretoken::FT_ISA {

inline constexpr int kHeads = 8;   // lanes of a position: the unit's query heads, and zeros
inline constexpr int kPiece = 32;  // elements of a head whose values are read together

template <CacheType kCacheType>
struct OfType {
  static constexpr CacheType kType = kCacheType;
};

// Words of a float. What such a class has beyond the Numbers of VectorAttention:
//   Choose(type, f): f(OfType<type>()).
//   LoadWords: sixteen words of a row's key, from word `word` of the head on.
//   LoadValues: those of a piece of the values at rows[0] ... rows[kPer - 1], from an element on.
//   StorePair(x, to): the weights of two positions that take turns in x, as words.
template <typename Numbers>
class FloatWords : public Numbers {
 public:
  template <typename Fn>
  FT_INLINE static void Choose(CacheType type, const Fn& f) {
    if (type == CacheType::kF32) return f(OfType<CacheType::kF32>());
    if (type == CacheType::kF16) return f(OfType<CacheType::kF16>());
    if (type == CacheType::kBF16) return f(OfType<CacheType::kBF16>());
    f(OfType<CacheType::kQ8_0>());
  }
  template <CacheType kType>
  FT_INLINE static F LoadWords(const std::byte* row, int64_t element, int64_t word) {
    return LoadCache<kType>(row, element + word, kLanes);
  }
  template <CacheType kType>
  FT_INLINE static void LoadValues(const std::byte* const* rows, int64_t element, F& a, F& b) {
    a = LoadCache<kType>(rows[0], element, kLanes);
    b = LoadCache<kType>(rows[0], element + kLanes, kLanes);
  }
  FT_INLINE static void StorePair(F x, float* to) { Store(x, to); }
};

// The engine of WalkSpans for the units that it takes. kDepth: words of a head.
//
// Lane 2 i + j % 2 is head i at position j, so that a register holds the scores of two positions:
// their keys are stored word by word in turn, and one load spreads the words of both.
template <typename Words, int kDepth>
class OneRowAttention {
 public:
  static constexpr int kSpan = FT_ISA::kSpan, kBlock = kKeys;
  static constexpr int kPer = Words::kPer, kHeadDim = kDepth * kPer;

  // With fewer heads than half of the lanes, a lane for each position is better.
  static bool Takes(const AttentionUnit& u) {
    return u.row_count == 1 && u.heads >= kHeads / 2 && u.heads <= kHeads &&
           u.head_dim == kHeadDim && u.column % kPiece == 0;
  }

  explicit OneRowAttention(const AttentionUnit& u) : u_(u), asks_(u) {
    ScratchPieces pieces(u.scratch);
    q_ = pieces.Take<float>(kDepth * kLanes);
    mixed_ = pieces.Take<float>(kHeads * kHeadDim);
    scores_ = pieces.Take<float>(kSpan * kHeads);
    sums_ = pieces.Take<float>(kKeys * kHeads);
    keys_ = pieces.Take<float>(2 * kKeys * kDepth);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    for (int i = 0; i < kDepth * kLanes; i += kLanes) Store(Zero(), q_ + i);
    for (int i = 0; i < u_.heads; ++i) {
      const float* q = u_.rows[0].q + i * kHeadDim;
      for (int d = 0; d < kHeadDim; d += kLanes * kPer) {
        float words[kLanes];
        Store(Words::LoadQuery(q + d, kHeadDim - d), words);
        for (int k = 0; k < kLanes; ++k) {
          float* const at = q_ + (d / kPer + k) * kLanes + 2 * i;
          at[0] = at[1] = words[k];
        }
      }
    }
    for (int i = 0; i < kHeads * kHeadDim; i += kLanes) Store(Zero(), mixed_ + i);
    for (int i = 0; i < kKeys * kHeads; i += kLanes) Store(Zero(), sums_ + i);
    tops_ = Splat(kLowest);
  }

  // Scores two blocks as soon as their keys are at hand.
  void Widen(const AttentionRow& row, int from, int index) {
    if (index == 0) asks_.Expect(from + kSpan, from + 2 * kSpan, row.run);
    const std::byte* rows[kKeys];
    BlockRows(u_, row, KeysOf(u_), from, kKeys, rows);
    BlockRows(u_, row, ValuesOf(u_), from, kKeys, value_rows_ + index * kKeys);
    float* const keys = keys_ + index % 2 * kKeys * kDepth;
    Words::Choose(u_.key_type, [&](auto type) {
      for (int j = 0; j < kKeys; j += 2) {
        if (j % kPositionsPerAsk == 0) asks_.Next();
        PairKeys<decltype(type)::kType>(rows[j], rows[j + 1], keys + j * kDepth);
      }
    });
    if (index % 2 == 1) Score<2>(index - 1);
  }

  void Attend(int row, int rows, int at, int blocks) {
    (void)row, (void)rows;
    if (blocks % 2 == 1) Score<1>(blocks - 1);
    const int positions = blocks * kKeys;
    Fold(at, positions);
    Words::Choose(u_.value_type, [&](auto type) {
      for (int d = 0; d < kHeadDim; d += kPiece) Mix<decltype(type)::kType>(d, positions);
    });
  }

  void End() {
    for (int i = 0; i < u_.heads; ++i) {
      float lanes[kKeys];
      for (int j = 0; j < kKeys; ++j) lanes[j] = sums_[j / 2 * kLanes + 2 * i + j % 2];
      const F factor = Splat(1.0f / Sum(Load(lanes)));
      float* out = u_.rows[0].out + i * kHeadDim;
      for (int d = 0; d < kHeadDim; d += kLanes) {
        Store(Load(mixed_ + i * kHeadDim + d) * factor, out + d);
      }
    }
  }

 private:
  // Of the next span, a position is asked for at every so many positions or words: all are when
  // this one is done, and memory is never idle.
  static constexpr int kPositionsPerAsk = 8, kWordsPerAsk = kDepth * 3 / 32;
  static constexpr int kMixedPerAsk = kHeadDim * 3 / 32;

  // Two positions' keys, word by word in turn: of each sixteen, 0 1 4 5 8 9 12 13 come first, which
  // is how registers are merged.
  template <CacheType kType>
  FT_INLINE void PairKeys(const std::byte* first, const std::byte* second, float* to) const {
    FT_UNROLL(8)
    for (int d = 0; d < kDepth; d += kLanes, to += 2 * kLanes) {
      const F a = Words::template LoadWords<kType>(first, u_.column, d);
      const F b = Words::template LoadWords<kType>(second, u_.column, d);
      _mm512_storeu_ps(to, _mm512_unpacklo_ps(a.v[0], b.v[0]));
      _mm512_storeu_ps(to + kLanes, _mm512_unpackhi_ps(a.v[0], b.v[0]));
    }
  }
  // Where it stores word d of sixteen.
  static constexpr int PairAt(int d) { return d % 4 / 2 * kLanes + d / 4 * 4 + d % 2 * 2; }

  // These are functions of their own because the compiler otherwise keeps their sums in memory.

  // Scores [pair][16] of kBlocks blocks from block `index` of the span on.
  template <int kBlocks>
  [[gnu::noinline]] void Score(int index) {
    constexpr int kPairs = kBlocks * kKeys / 2;
    const float* keys = keys_ + index % 2 * kKeys * kDepth;
    const float* q = q_;
    F acc[kPairs];
    FT_UNROLL(16)
    for (int i = 0; i < kPairs; ++i) acc[i] = Zero();
    for (int d = 0; d < kDepth; d += kLanes, keys += 2 * kLanes) {
      FT_UNROLL(16)
      for (int k = 0; k < kLanes; ++k, q += kLanes) {
        if (k % kWordsPerAsk == 0) asks_.Next();
        const F words = Load(q);
        FT_UNROLL(16)
        for (int i = 0; i < kPairs; ++i) {
          double two;
          __builtin_memcpy(&two, keys + i * 2 * kDepth + PairAt(k), sizeof(two));
          F pair;
          pair.v[0] = _mm512_castpd_ps(_mm512_set1_pd(two));
          acc[i] = Words::Product(words, pair, acc[i]);
        }
      }
    }
    float* const scores = scores_ + index * kKeys * kHeads;
    FT_UNROLL(16)
    for (int i = 0; i < kPairs; ++i) Store(acc[i] * Splat(u_.scale), scores + i * kLanes);
  }

  // As VectorAttention's, of all heads at once.
  [[gnu::noinline]] void Fold(int at, int positions) {
    const AttentionRow& row = u_.rows[0];
    if (at < row.begin || at + positions > row.count) {
      for (int j = 0; j < positions; ++j) {
        if (at + j >= row.begin && at + j < row.count) continue;
        _mm512_mask_storeu_ps(scores_ + j / 2 * kLanes, j % 2 == 0 ? 0x5555 : 0xaaaa,
                              _mm512_set1_ps(-__builtin_inff()));
      }
    }
    // Four at a time, as each waits for its result.
    F tops[4] = {tops_, tops_, tops_, tops_};
    for (int j = 0; j < positions; j += 8) {
      FT_UNROLL(4)
      for (int k = 0; k < 4; ++k) tops[k] = Max(Load(scores_ + (j + 2 * k) * kHeads), tops[k]);
    }
    F top = Max(Max(tops[0], tops[1]), Max(tops[2], tops[3])), swapped;
    swapped.v[0] = _mm512_permute_ps(top.v[0], 0xb1);
    top = Max(swapped, top);
    if (_mm512_cmp_ps_mask(top.v[0], tops_.v[0], _CMP_NEQ_UQ) != 0) Lower(Exp(tops_ - top));
    tops_ = top;
    for (int j = 0; j < positions; j += 2) {
      if (j % kPositionsPerAsk == 0) asks_.Next();
      const F x = Words::Power(Load(scores_ + j * kHeads) - top);
      Words::StorePair(x, scores_ + j * kHeads / kPer);
      float* const sum = sums_ + j % kKeys * kHeads;
      Store(Load(sum) + x, sum);
    }
  }

  // Brings what was summed to a new maximum: times a factor for each head, twice each.
  void Lower(F factor) {
    for (int j = 0; j < kKeys; j += 2) {
      Store(Load(sums_ + j * kHeads) * factor, sums_ + j * kHeads);
    }
    float factors[kLanes];
    Store(factor, factors);
    for (int i = 0; i < u_.heads; ++i) {
      float* const mixed = mixed_ + i * kHeadDim;
      for (int d = 0; d < kHeadDim; d += kLanes) {
        Store(Load(mixed + d) * Splat(factors[2 * i]), mixed + d);
      }
    }
  }

  // A piece of the values times their weights.
  template <CacheType kType>
  [[gnu::noinline]] void Mix(int d, int positions) {
    F acc[kHeads][2];
    FT_UNROLL(8)
    for (int i = 0; i < kHeads; ++i) {
      acc[i][0] = Load(mixed_ + i * kHeadDim + d);
      acc[i][1] = Load(mixed_ + i * kHeadDim + d + kLanes);
    }
    const float* weights = scores_;
    asks_.Next();
    for (int j = 0; j < positions; j += 2, weights += kLanes / kPer) {
      if (j % kMixedPerAsk == 0) asks_.Next();
      FT_UNROLL(2)
      for (int k = 0; k < 2; k += kPer) {
        F a, b;
        Words::template LoadValues<kType>(value_rows_ + j + k, u_.column + d, a, b);
        FT_UNROLL(8)
        for (int i = 0; i < kHeads; ++i) {
          const F w = Splat(weights[i * (2 / kPer) + k]);
          acc[i][0] = Words::Product(w, a, acc[i][0]);
          acc[i][1] = Words::Product(w, b, acc[i][1]);
        }
      }
    }
    FT_UNROLL(8)
    for (int i = 0; i < kHeads; ++i) {
      Store(acc[i][0], mixed_ + i * kHeadDim + d);
      Store(acc[i][1], mixed_ + i * kHeadDim + d + kLanes);
    }
  }

  const AttentionUnit& u_;
  Asks asks_;  // for the span after this one
  F tops_;     // of each head, twice
  float* q_;   // words [depth][8], each twice
  float *mixed_, *scores_, *sums_, *keys_;
  const std::byte* value_rows_[kSpan];
  int64_t scratch_;
};

// Units of one row with heads of 64 or 128 elements go to OneRowAttention, all others to Many.
template <typename Words, typename Many>
constexpr AttentionOp RowsOp() {
  using Small = OneRowAttention<Words, 64 / Words::kPer>;
  using Large = OneRowAttention<Words, 128 / Words::kPer>;
  return {[](const AttentionUnit& u) {
            if (Small::Takes(u)) return AttentionScratch<Small>(u);
            if (Large::Takes(u)) return AttentionScratch<Large>(u);
            return AttentionScratch<Many>(u);
          },
          [](const AttentionUnit& u) {
            if (Small::Takes(u)) return RunAttention<Small>(u);
            if (Large::Takes(u)) return RunAttention<Large>(u);
            RunAttention<Many>(u);
          }};
}

}  // namespace foretoken::FT_ISA
