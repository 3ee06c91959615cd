// Attention of one row over one key/value head, with AVX-512: what plain decoding needs.
//
// A lane of the scores is a query head, so that keys are multiplied where they lie in a cache, and
// values too: VectorAttention would bring them into an order of its own for this one row. Every sum
// has the same terms in the same order, so results have the same bits.
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
//   LieReady(type): whether a cache holds words as they are multiplied.
//   Choose(type, f): f(OfType<type>()).
//   Product8: Product in eight lanes.
//   StoreKey: the words of a row's key.
//   LoadValues: those of a piece of the values at rows[0] ... rows[kPer - 1], from an element on.
//   StorePairs(x, to): the weights of two positions, as words.
class FloatWords : public FloatNumbers {
 public:
  static bool LieReady(CacheType type) { return type == CacheType::kF32; }
  template <typename Fn>
  FT_INLINE static void Choose(CacheType type, const Fn& f) {
    if (type == CacheType::kF32) return f(OfType<CacheType::kF32>());
    if (type == CacheType::kF16) return f(OfType<CacheType::kF16>());
    if (type == CacheType::kBF16) return f(OfType<CacheType::kBF16>());
    f(OfType<CacheType::kQ8_0>());
  }
  FT_INLINE static __m256 Product8(__m256 a, __m256 b, __m256 c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  template <CacheType kType>
  FT_INLINE static void StoreKey(const std::byte* row, int64_t element, int64_t n, float* out) {
    for (int64_t d = 0; d < n; d += kLanes) {
      Store(LoadCache<kType>(row, element + d, kLanes), out + d);
    }
  }
  template <CacheType kType>
  FT_INLINE static void LoadValues(const std::byte* const* rows, int64_t element, F& a, F& b) {
    a = LoadCache<kType>(rows[0], element, kLanes);
    b = LoadCache<kType>(rows[0], element + kLanes, kLanes);
  }
  FT_INLINE static void StorePairs(F x, float* to) { Store(x, to); }
};

// The engine of WalkSpans for the units that it takes. kDepth: words of a head.
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

  explicit OneRowAttention(const AttentionUnit& u) : u_(u) {
    ScratchPieces pieces(u.scratch);
    q_ = pieces.Take<float>(kDepth * kHeads);
    mixed_ = pieces.Take<float>(kHeads * kHeadDim);
    scores_ = pieces.Take<float>(kSpan * kHeads);
    sums_ = pieces.Take<float>(kKeys * kHeads);
    keys_ = pieces.Take<float>(kKeys * kDepth);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    for (int i = 0; i < kDepth * kHeads; i += kLanes) Store(Zero(), q_ + i);
    for (int i = 0; i < u_.heads; ++i) {
      const float* q = u_.rows[0].q + i * kHeadDim;
      for (int d = 0; d < kHeadDim; d += kLanes * kPer) {
        float words[kLanes];
        Store(Words::LoadQuery(q + d, kHeadDim - d), words);
        for (int k = 0; k < kLanes; ++k) q_[(d / kPer + k) * kHeads + i] = words[k];
      }
    }
    for (int i = 0; i < kHeads * kHeadDim; i += kLanes) Store(Zero(), mixed_ + i);
    for (int i = 0; i < kKeys * kHeads; i += kLanes) Store(Zero(), sums_ + i);
    tops_ = Splat(kLowest);
  }

  // Scores a block too: its keys are at hand.
  void Widen(const AttentionRow& row, int from, int index) {
    const CacheView keys = KeysOf(u_), values = ValuesOf(u_);
    const std::byte* key_rows[kKeys];
    BlockRows(u_, row, keys, from, key_rows);
    BlockRows(u_, row, values, from, value_rows_ + index * kKeys);
    // A line at each word: all at once would fill the queue of reads.
    const std::byte* const far_keys = keys.base + (from + kAhead) * keys.row_bytes;
    const std::byte* const far_values = values.base + (from + kAhead) * values.row_bytes;
    const int64_t key_step = keys.row_bytes * kKeys / kDepth;
    const int64_t value_step = values.row_bytes * kKeys / kDepth;
    const auto ask = [=](int d) {
      __builtin_prefetch(far_keys + d * key_step, 0, 2);
      __builtin_prefetch(far_values + d * value_step, 0, 2);
    };
    float* const scores = scores_ + index * kKeys * kHeads;
    bool in_a_row = true;  // and of this head only: rows have no other column than 0
    for (int j = 1; j < kKeys; ++j) {
      in_a_row = in_a_row && key_rows[j] - key_rows[j - 1] == kDepth * kWordBytes;
    }
    if (Words::LieReady(u_.key_type) && in_a_row) {
      const auto* const first = reinterpret_cast<const float*>(key_rows[0]);
      Score(first, scores, [=](int d) {
        ask(d);
        __builtin_prefetch(first + (kDepth + d) * kKeys, 0, 3);
      });
      return;
    }
    Words::Choose(u_.key_type, [&](auto type) {
      for (int j = 0; j < kKeys; ++j) {
        Words::template StoreKey<decltype(type)::kType>(key_rows[j], u_.column, kHeadDim,
                                                        keys_ + j * kDepth);
      }
    });
    Score(keys_, scores, ask);
  }

  void Attend(int row, int rows, int at, int blocks) {
    (void)row, (void)rows;
    const int positions = blocks * kKeys;
    Fold(at, positions);
    Words::Choose(u_.value_type, [&](auto type) {
      for (int d = 0; d < kHeadDim; d += kPiece) Mix<decltype(type)::kType>(d, positions);
    });
  }

  void End() {
    for (int i = 0; i < u_.heads; ++i) {
      float lanes[kKeys];
      for (int j = 0; j < kKeys; ++j) lanes[j] = sums_[j * kHeads + i];
      const F factor = Splat(1.0f / Sum(Load(lanes)));
      float* out = u_.rows[0].out + i * kHeadDim;
      for (int d = 0; d < kHeadDim; d += kLanes) {
        Store(Load(mixed_ + i * kHeadDim + d) * factor, out + d);
      }
    }
  }

 private:
  static constexpr int64_t kWordBytes = 4;
  // Positions that the caches are asked for ahead: so many that memory is never idle, so few that
  // they do not push out of the first cache what is in use.
  static constexpr int kAhead = kSpan / 2;

  // These are functions of their own because the compiler otherwise keeps their sums in memory.

  // Scores [position][8] of a block's keys, words [16][depth]. Calls ask(word) at each word.
  template <typename Ask>
  [[gnu::noinline]] void Score(const float* keys, float* scores, const Ask& ask) {
    __m256 acc[kKeys];
    FT_UNROLL(16)
    for (int i = 0; i < kKeys; ++i) acc[i] = _mm256_setzero_ps();
    for (int d = 0; d < kDepth; ++d) {
      ask(d);
      const __m256 q = _mm256_loadu_ps(q_ + d * kHeads);
      FT_UNROLL(16)
      for (int i = 0; i < kKeys; ++i) {
        acc[i] = Words::Product8(q, _mm256_broadcast_ss(keys + i * kDepth + d), acc[i]);
      }
    }
    FT_UNROLL(16)
    for (int i = 0; i < kKeys; ++i) {
      _mm256_storeu_ps(scores + i * kHeads, _mm256_mul_ps(acc[i], _mm256_set1_ps(u_.scale)));
    }
  }

  // As VectorAttention's, of all heads at once.
  [[gnu::noinline]] void Fold(int at, int positions) {
    const AttentionRow& row = u_.rows[0];
    if (at < row.begin || at + positions > row.count) {
      for (int j = 0; j < positions; ++j) {
        if (at + j >= row.begin && at + j < row.count) continue;
        _mm256_storeu_ps(scores_ + j * kHeads, _mm256_set1_ps(-__builtin_inff()));
      }
    }
    F top = tops_;
    for (int j = 0; j < positions; j += 2) top = Max(Load(scores_ + j * kHeads), top);
    F swapped;
    swapped.v[0] = _mm512_shuffle_f32x4(top.v[0], top.v[0], 0x4e);
    top = Max(swapped, top);
    if (_mm512_cmp_ps_mask(top.v[0], tops_.v[0], _CMP_NEQ_UQ) != 0) Lower(Exp(tops_ - top));
    tops_ = top;
    for (int j = 0; j < positions; j += 2) {
      const F x = Words::Power(Load(scores_ + j * kHeads) - top);
      Words::StorePairs(x, scores_ + j * kHeads / kPer);
      float* const sum = sums_ + j % kKeys * kHeads;
      Store(Load(sum) + x, sum);
    }
  }

  // Brings what was summed to a new maximum: times a factor for each head, twice [8].
  void Lower(F factor) {
    for (int j = 0; j < kKeys; j += 2) {
      Store(Load(sums_ + j * kHeads) * factor, sums_ + j * kHeads);
    }
    float factors[kLanes];
    Store(factor, factors);
    for (int i = 0; i < u_.heads; ++i) {
      float* const mixed = mixed_ + i * kHeadDim;
      for (int d = 0; d < kHeadDim; d += kLanes) {
        Store(Load(mixed + d) * Splat(factors[i]), mixed + d);
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
    for (int j = 0; j < positions; j += kPer, weights += kHeads) {
      F a, b;
      Words::template LoadValues<kType>(value_rows_ + j, u_.column + d, a, b);
      FT_UNROLL(8)
      for (int i = 0; i < kHeads; ++i) {
        const F w = Splat(weights[i]);
        acc[i][0] = Words::Product(w, a, acc[i][0]);
        acc[i][1] = Words::Product(w, b, acc[i][1]);
      }
    }
    FT_UNROLL(8)
    for (int i = 0; i < kHeads; ++i) {
      Store(acc[i][0], mixed_ + i * kHeadDim + d);
      Store(acc[i][1], mixed_ + i * kHeadDim + d + kLanes);
    }
  }

  const AttentionUnit& u_;
  F tops_;    // of each head, twice
  float* q_;  // words [depth][8]
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
