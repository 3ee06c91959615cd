// Attention over BF16 caches, with products of bf16 pairs and float sums. Queries and weights are
// rounded to bf16, and one instruction multiplies twice as many values as with floats.
#pragma once

#include "backend/cpu/attention/query_lanes.h"

namespace foretoken::FT_ISA {

// A word is two bf16, the first in the low half.
class PairNumbers {
 public:
  static constexpr int kPerWord = 2;

  FT_INLINE static F Product(F a, F b, F c) {
    c.v[0] = _mm512_dpbf16_ps(c.v[0], reinterpret_cast<__m512bh>(a.v[0]),
                              reinterpret_cast<__m512bh>(b.v[0]));
    return c;
  }

  FT_INLINE static F LoadQuery(const float* q, int64_t n) {
    F r;
    r.v[0] = reinterpret_cast<NativeF>(_mm512_cvtne2ps_pbh(
        n > kLanes ? LoadFirst(q + kLanes, n - kLanes).v[0] : Zero().v[0], LoadFirst(q, n).v[0]));
    return r;
  }

  FT_INLINE static F Power(F x) { return QuickExp(x); }

  // Stores weights over the scores. A block's weights take half as much space, so they never
  // overwrite the scores of a later block.
  FT_INLINE static void StoreWeights(F x, float* weights, int block) {
    const __m256bh rounded = _mm512_cvtneps_pbh(x.v[0]);
    __builtin_memcpy(weights + block * kBlockPositions / 2, &rounded, sizeof(rounded));
  }

  // Converts a row's keys at positions [from, from + 16) to words [padded head / 2][16], with one
  // position per lane. Past the row's last position, its key is repeated.
  static void WidenKeys(const AttentionUnit& u, const AttentionRow& row, int from,
                        RowPrefetcher& prefetcher, float* out) {
    const std::byte* in[kBlockPositions];
    FindRows(u, row, KeysOf(u), from, prefetcher, in);
    for (int d = 0; d < u.head_dim; d += kVectorElements) {
      F x[kBlockPositions];
      FT_UNROLL(16)
      for (int j = 0; j < kBlockPositions; ++j) {
        x[j].v[0] = reinterpret_cast<NativeF>(LoadPairs(in[j], u.column + d, u.head_dim - d));
      }
      StoreTransposed(x, out + d / 2 * kBlockPositions);
    }
  }

  // Converts a row's values at positions [from, from + 16) to words [8][padded head]. A lane holds
  // one element of two positions. Past the row's last position, its value is repeated.
  static void WidenValues(const AttentionUnit& u, const AttentionRow& row, int from,
                          RowPrefetcher& prefetcher, float* out) {
    const std::byte* in[kBlockPositions];
    FindRows(u, row, ValuesOf(u), from, prefetcher, in);
    for (int d = 0; d < u.head_dim; d += kVectorElements) {
      float* to = out + d;
      for (int j = 0; j < kBlockPositions; j += 2, to += PaddedHead<PairNumbers>(u.head_dim)) {
        F low, high;
        Merge(LoadPairs(in[j], u.column + d, u.head_dim - d),
              LoadPairs(in[j + 1], u.column + d, u.head_dim - d), low, high);
        Store(low, to);
        Store(high, to + kLanes);
      }
    }
  }

 protected:
  static constexpr int kVectorElements = 2 * kLanes;  // bf16 values of a vector

  // Elements [i, i + 32) of a row; if n < 32, only the first n of them, then zeros.
  FT_INLINE static __m512i LoadPairs(const std::byte* row, int64_t i, int64_t n = kVectorElements) {
    if (n >= kVectorElements) return _mm512_loadu_si512(row + 2 * i);
    return _mm512_maskz_loadu_epi16((__mmask32{1} << n) - 1, row + 2 * i);
  }

  // Interleaves the elements of a and b: the first sixteen of each to `low`, the others to `high`.
  FT_INLINE static void Merge(__m512i a, __m512i b, F& low, F& high) {
    uint16_t order[kVectorElements];
    for (int i = 0; i < kVectorElements; ++i)
      order[i] = static_cast<uint16_t>(i / 2 + i % 2 * kVectorElements);
    const __m512i first = _mm512_loadu_si512(order);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(kLanes));
    low.v[0] = reinterpret_cast<NativeF>(_mm512_permutex2var_epi16(a, first, b));
    high.v[0] = reinterpret_cast<NativeF>(_mm512_permutex2var_epi16(a, second, b));
  }
};

// PairNumbers with the members that QueryLanes needs (FloatWords, query_lanes.h).
class PairWords : public PairNumbers {
 public:
  template <typename Fn>
  FT_INLINE static void DispatchOnType(CacheType, const Fn& f) {
    f(CacheTypeTag<CacheType::kBF16>());
  }
  template <CacheType>
  FT_INLINE static F LoadWords(const std::byte* row, int64_t head_begin, int64_t word) {
    F words;
    words.v[0] = reinterpret_cast<NativeF>(LoadPairs(row, head_begin + word * kPerWord));
    return words;
  }
  template <CacheType, int kVectors>
  FT_INLINE static void LoadValues(const std::byte* const* rows, int64_t element, F* x) {
    static_assert(kVectors == 2);
    Merge(LoadPairs(rows[0], element), LoadPairs(rows[1], element), x[0], x[1]);
  }
  FT_INLINE static void StoreWeights(F x, float* to) {
    const __m256bh rounded = _mm512_cvtneps_pbh(x.v[0]);
    __builtin_memcpy(to, &rounded, sizeof(rounded));
  }
};

}  // namespace foretoken::FT_ISA
