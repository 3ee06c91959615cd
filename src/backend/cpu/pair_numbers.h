// Attention in products of bf16 pairs with float sums, for BF16 caches: queries and weights are
// rounded to bf16, and an instruction multiplies twice the numbers that float arithmetic takes.
#pragma once

#include "backend/cpu/attention_products.h"

namespace foretoken::FT_ISA {

// A word is two bf16, the first in the low half.
class PairNumbers {
 public:
  static constexpr int kPer = 2;

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

  // In place of the scores: a block's weights take half of the room, and none is ahead of its
  // block.
  FT_INLINE static void StoreWeights(F x, float* weights, int block) {
    const __m256bh rounded = _mm512_cvtneps_pbh(x.v[0]);
    __builtin_memcpy(weights + block * kKeys / 2, &rounded, sizeof(rounded));
  }

  // Positions [from, from + 16) of a row as words [padded head / 2][16]: a lane is a position.
  static void WidenKeys(const AttentionUnit& u, const AttentionRow& row, int from, Asks& asks,
                        float* out) {
    const CacheView cache = KeysOf(u);
    const std::byte* in[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      if (j % 4 == 0) asks.Next();
      in[j] = BlockRow(u, row, cache, from, j) + 2 * u.column;
    }
    for (int d = 0; d < u.head_dim; d += kWords) {
      F x[kKeys];
      FT_UNROLL(16)
      for (int j = 0; j < kKeys; ++j) {
        x[j].v[0] = reinterpret_cast<NativeF>(LoadWords(in[j] + 2 * d, u.head_dim - d));
      }
      StoreTransposed(x, out + d / 2 * kKeys);
    }
  }

  // The same as words [8][padded head]: a lane is an element of two positions.
  static void WidenValues(const AttentionUnit& u, const AttentionRow& row, int from, Asks& asks,
                          float* out) {
    const __m512i low = FirstOfPairs(), high = _mm512_add_epi16(low, _mm512_set1_epi16(kLanes));
    const CacheView cache = ValuesOf(u);
    for (int j = 0; j < kKeys; j += 2, out += PaddedHead<PairNumbers>(u.head_dim)) {
      if (j % 4 == 0) asks.Next();
      const std::byte* const first = BlockRow(u, row, cache, from, j) + 2 * u.column;
      const std::byte* const second = BlockRow(u, row, cache, from, j + 1) + 2 * u.column;
      for (int d = 0; d < u.head_dim; d += kWords) {
        const __m512i a = LoadWords(first + 2 * d, u.head_dim - d);
        const __m512i b = LoadWords(second + 2 * d, u.head_dim - d);
        _mm512_storeu_si512(out + d, _mm512_permutex2var_epi16(a, low, b));
        _mm512_storeu_si512(out + d + kLanes, _mm512_permutex2var_epi16(a, high, b));
      }
    }
  }

 private:
  static constexpr int kWords = 2 * kLanes;  // bf16 of a register

  // The first n numbers, or all where there are more.
  FT_INLINE static __m512i LoadWords(const std::byte* p, int64_t n) {
    if (n >= kWords) return _mm512_loadu_si512(p);
    return _mm512_maskz_loadu_epi16((__mmask32{1} << n) - 1, p);
  }

  // Takes 0, 32, 1, 33 ... of two registers.
  FT_INLINE static __m512i FirstOfPairs() {
    uint16_t order[kWords];
    for (int i = 0; i < kWords; ++i) order[i] = static_cast<uint16_t>(i / 2 + i % 2 * kWords);
    return _mm512_loadu_si512(order);
  }
};

}  // namespace foretoken::FT_ISA
