// Vector operations for attention on the matrix unit: conversion to bf16 in the order of tiles, and
// powers of two.
#pragma once

#include "backend/cpu/isa/vec.h"

namespace foretoken::FT_ISA {

inline constexpr int64_t kTileBytes = 1024;  // 16 rows of 64 bytes
inline constexpr int kStep = 32;             // bf16 values in a row of a tile

FT_INLINE I HighHalf(F x) { return AsI(x) & Splat(-65536); }
// The difference between x and x truncated to bf16, which is exact.
FT_INLINE F LowPart(F x) { return x - AsF(HighHalf(x)); }

// a and b truncated to bf16: a's lanes in the low halves, b's in the high halves.
FT_INLINE F CutPairs(F a, F b) { return AsF(ShiftRight(AsI(a), 16) | HighHalf(b)); }

// The 32 elements of a step as bf16. With two parts they are truncated and stored as pairs (a[i],
// b[i]); with one part they are rounded and stay in order.
template <int kParts>
FT_INLINE F CutStep(F a, F b) {
  if constexpr (kParts == 2) return CutPairs(a, b);
  F r;
  r.v[0] = reinterpret_cast<NativeF>(_mm512_cvtne2ps_pbh(b.v[0], a.v[0]));
  return r;
}

// Splits each of 32 F16 values into two bf16, high + low, and keeps their order. `low` is the value
// of the last three bits, looked up in a table. Where these bits are zeros, `low` is not zero but
// below 2^-96 in magnitude.
FT_INLINE void SplitHalves(__m512i x, __m512i& high, __m512i& low) {
  // Added to the exponent of an F16 value, they give the exponents of its first and last bit in
  // bf16.
  constexpr int kBias = 127 - 15, kLast = 127 - 25;
  const auto set = [](int zero, int one, int two, int three, int four, int five, int six,
                      int seven) {
    return _mm_setr_epi16(zero, one, two, three, four, five, six, seven);
  };
  const __m512i lasts = _mm512_broadcast_i32x4(
      set(0, kLast << 7, (kLast + 1) << 7, (kLast + 1) << 7 | 64, (kLast + 2) << 7,
          (kLast + 2) << 7 | 32, (kLast + 2) << 7 | 64, (kLast + 2) << 7 | 96));
  const __m512i moved =
      _mm512_and_si512(_mm512_srai_epi16(x, 3), _mm512_set1_epi16(static_cast<int16_t>(0x8fff)));
  high = _mm512_add_epi16(moved, _mm512_set1_epi16(kBias << 7));
  low = _mm512_add_epi16(_mm512_permutexvar_epi16(x, lasts),
                         _mm512_and_si512(moved, _mm512_set1_epi16(static_cast<int16_t>(0x8f80))));
  // Exponents 0 and 31: values below 2^-14, infinities and NaN.
  const __mmask32 special = _mm512_testn_epi16_mask(_mm512_add_epi16(x, _mm512_set1_epi16(0x0400)),
                                                    _mm512_set1_epi16(0x7800));
  if (__builtin_expect(special != 0, 0)) {
    __m256i words[2][2];
    for (int i = 0; i < 2; ++i) {
      F wide;
      wide.v[0] =
          _mm512_cvtph_ps(i == 0 ? _mm512_castsi512_si256(x) : _mm512_extracti64x4_epi64(x, 1));
      words[0][i] = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(wide.v[0]), 16));
      words[1][i] =
          _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(LowPart(wide).v[0]), 16));
    }
    high = _mm512_mask_mov_epi16(
        high, special, _mm512_inserti64x4(_mm512_castsi256_si512(words[0][0]), words[0][1], 1));
    low = _mm512_mask_mov_epi16(
        low, special, _mm512_inserti64x4(_mm512_castsi256_si512(words[1][0]), words[1][1], 1));
  }
}

// 2^x within 3e-6; 0 for -infinity.
FT_INLINE F Exp2(F x) {
  F f, r;
  f.v[0] = _mm512_reduce_ps(x.v[0], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  F p = Splat(9.582851082e-3f);
  p = MulAdd(p, f, Splat(5.590642989e-2f));
  p = MulAdd(p, f, Splat(0.2402409911f));
  p = MulAdd(p, f, Splat(0.6931241751f));
  p = MulAdd(p, f, Splat(1.0f));
  r.v[0] = _mm512_scalef_ps(p.v[0], _mm512_sub_ps(x.v[0], f.v[0]));
  return r;
}

// The lower half of x in both halves.
FT_INLINE F LowerTwice(F x) {
  F r;
  r.v[0] = _mm512_shuffle_f32x4(x.v[0], x.v[0], 0x44);
  return r;
}
FT_INLINE F SwapHalves(F x) {
  F r;
  r.v[0] = _mm512_shuffle_f32x4(x.v[0], x.v[0], 0x4e);
  return r;
}
// Eight floats from `low` and eight from `high`.
FT_INLINE F LoadLowers(const float* low, const float* high) {
  F r;
  r.v[0] =
      _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
  return r;
}

// Writes lane i of the lower half of x[k] to out[16 i + 2 k], and lane i of the upper half to the
// element after it.
FT_INLINE void StoreTransposedHalves(const F x[8], float* out) {
  const __m512i order = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  // [0][k]: lanes 0, 2, 4 and 6 of both halves of x[2 k] and x[2 k + 1]; [1][k]: 1, 3, 5 and 7.
  __m512d pair[2][4];
  FT_UNROLL(4)
  for (int k = 0; k < 4; ++k) {
    const __m512d a = _mm512_castps_pd(_mm512_permutexvar_ps(order, x[2 * k].v[0]));
    const __m512d b = _mm512_castps_pd(_mm512_permutexvar_ps(order, x[2 * k + 1].v[0]));
    pair[0][k] = _mm512_unpacklo_pd(a, b);
    pair[1][k] = _mm512_unpackhi_pd(a, b);
  }
  FT_UNROLL(2)
  for (int i = 0; i < 2; ++i) {
    const __m512d a = _mm512_shuffle_f64x2(pair[i][0], pair[i][1], 0x88);
    const __m512d b = _mm512_shuffle_f64x2(pair[i][2], pair[i][3], 0x88);
    const __m512d c = _mm512_shuffle_f64x2(pair[i][0], pair[i][1], 0xdd);
    const __m512d d = _mm512_shuffle_f64x2(pair[i][2], pair[i][3], 0xdd);
    _mm512_storeu_pd(out + 16 * i, _mm512_shuffle_f64x2(a, b, 0x88));
    _mm512_storeu_pd(out + 16 * (2 + i), _mm512_shuffle_f64x2(c, d, 0x88));
    _mm512_storeu_pd(out + 16 * (4 + i), _mm512_shuffle_f64x2(a, b, 0xdd));
    _mm512_storeu_pd(out + 16 * (6 + i), _mm512_shuffle_f64x2(c, d, 0xdd));
  }
}

FT_INLINE F KeepLanes(__mmask16 lanes, F a, F b) {  // a in `lanes`, b elsewhere
  F r;
  r.v[0] = _mm512_mask_blend_ps(lanes, b.v[0], a.v[0]);
  return r;
}

// Permutes the 32 lanes of a and b: a becomes the lanes that `first` lists, b the lanes that are
// `offset` places after these.
FT_INLINE void Pick(__m512i first, int offset, F& a, F& b) {
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(offset));
  const __m512 picked = _mm512_permutex2var_ps(a.v[0], first, b.v[0]);
  b.v[0] = _mm512_permutex2var_ps(a.v[0], second, b.v[0]);
  a.v[0] = picked;
}

// Moves the elements with even indices, of the 32 in a and b, to a, and the others to b.
FT_INLINE void SplitEvenOdd(F& a, F& b) {
  Pick(_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), 1, a, b);
}

// Restores the order of 32 elements that WidenValues left in groups of four, alternating between a
// and b.
FT_INLINE void RestoreOrder(F& a, F& b) {
  Pick(_mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23), 8, a, b);
}

}  // namespace foretoken::FT_ISA
