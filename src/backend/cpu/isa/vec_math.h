// Rounding, exponentials and the bases of int8 blocks, for the vectors of vec.h.
#pragma once

#include "backend/cpu/isa/vec.h"

namespace foretoken::FT_ISA {

// Rounds each lane to BF16, ties to even. The bits are in the low half of the lane; a NaN remains a
// NaN.
FT_INLINE I ToBf16(F x) {
  const I bits = AsI(x);
  const I rounded = bits + Splat(0x7fff) + (ShiftRight(bits, 16) & Splat(1));
  return ShiftRight(Select(Unordered(x), bits | Splat(0x400000), rounded), 16);
}
// Replaces NaN and infinities, which int8 codes cannot represent, with zeros.
FT_INLINE F Finite(F a) {
#if defined(__AVX512DQ__)
  constexpr int kNaNs = 0x81, kInfinities = 0x18;
  const __mmask16 not_finite = _mm512_fpclass_ps_mask(a.v[0], kNaNs | kInfinities);
  a.v[0] = _mm512_mask_mov_ps(a.v[0], not_finite, _mm512_setzero_ps());
  return a;
#else
  return Select(Greater(Splat(__builtin_inff()), Abs(a)), a, Splat(0.0f));
#endif
}
// The bases (kernels.h) of blocks whose largest magnitudes are `top`, with one block per lane. The
// unit is the smallest power of two that is at least top / 127; a `top` below 2^-90 counts as
// 2^-90.
FT_INLINE F BaseOf(F top) {
  const I bits = AsI(Max(top, Splat(0x1p-90f)));
  // Where top exceeds 127 * 2^n = 1.984375 * 2^(n + 6), the first addition carries into the
  // exponent. The exponent of the base is 23 - 6 above that of this sum, and the mantissa of the
  // base is 1.5.
  return AsF(((bits + Splat(0x1ffff)) & Splat(-0x800000)) + Splat((23 - 6) * 0x800000 + 0x400000));
}

// e^x within 2 units in the last place; 0 below -87.3, capped at e^88.
FT_INLINE F Exp(F x) {
  const F low = Splat(-87.3f);
  const I vanishes = Greater(low, x);
  x = Select(Greater(x, Splat(88.0f)), Splat(88.0f), x);  // a NaN stays
  x = Select(vanishes, low, x);
  const F biased = x * Splat(1.44269504088896341f) + Splat(0x1.8p23f);
  const F n = biased - Splat(0x1.8p23f);
  const F r = MulAdd(n, Splat(-1.42860682e-6f), MulAdd(n, Splat(-0.693145751953125f), x));
  F p = Splat(1.9875691500e-4f);
  p = MulAdd(p, r, Splat(1.3981999507e-3f));
  p = MulAdd(p, r, Splat(8.3334519073e-3f));
  p = MulAdd(p, r, Splat(4.1665795894e-2f));
  p = MulAdd(p, r, Splat(1.6666665459e-1f));
  p = MulAdd(p, r, Splat(5.0000001201e-1f));
  p = MulAdd(p, r * r, r) + Splat(1.0f);
  const I power = ShiftLeft(AsI(biased) - Splat(0x4b400000) + Splat(127), 23);
  return Select(vanishes, Zero(), p * AsF(power));
}

#if defined(__AVX512F__)
// 2^f within 5e-6. REQUIRES: -0.5 <= f <= 0.5.
FT_INLINE F PowerOfFraction(F f) {
  F p = Splat(9.582851082e-3f);
  p = MulAdd(p, f, Splat(5.590642989e-2f));
  p = MulAdd(p, f, Splat(0.2402409911f));
  p = MulAdd(p, f, Splat(0.6931241751f));
  return MulAdd(p, f, Splat(1.0f));
}
// e^x within 5e-6; 0 below -87. Meant for attention where weights or cached values are rounded to
// 16 bits or fewer. REQUIRES: x <= 0.
FT_INLINE F QuickExp(F x) {
  const __m512 low = _mm512_set1_ps(-87.0f), magic = _mm512_set1_ps(0x1.8p23f);
  const __m512 log2_e = _mm512_set1_ps(1.44269504088896341f);
  const __mmask16 in_range = _mm512_cmp_ps_mask(x.v[0], low, _CMP_NLT_UQ);  // true for NaN
  const __m512 y = _mm512_max_ps(low, x.v[0]);                              // a NaN stays
  const __m512 biased = _mm512_fmadd_ps(y, log2_e, magic);
  F f, r;
  f.v[0] = _mm512_fmsub_ps(y, log2_e, _mm512_sub_ps(biased, magic));
  const F p = PowerOfFraction(f);
  const __m512i power = _mm512_slli_epi32(
      _mm512_sub_epi32(_mm512_castps_si512(biased), _mm512_set1_epi32(0x4b400000 - 127)), 23);
  r.v[0] = _mm512_maskz_mul_ps(in_range, p.v[0], _mm512_castsi512_ps(power));
  return r;
}
// 2^x within 5e-6; 0 below -100. Meant for weights that are rounded to 16 bits. REQUIRES: x <= 0.
FT_INLINE F QuickPower(F x) {
  const __m512 magic = _mm512_set1_ps(0x1.8p23f);
  const __mmask16 in_range = _mm512_cmp_ps_mask(x.v[0], _mm512_set1_ps(-100.0f), _CMP_NLT_UQ);
  const __m512 biased = _mm512_add_ps(x.v[0], magic);
  F f, r;
  f.v[0] = _mm512_sub_ps(x.v[0], _mm512_sub_ps(biased, magic));
  // The shift moves the integer part of x to the exponent and drops the rest. For a NaN the shift
  // gives zero, so that the result remains a NaN.
  const __m512i power = _mm512_slli_epi32(_mm512_castps_si512(biased), 23);
  const __m512i p = _mm512_castps_si512(PowerOfFraction(f).v[0]);
  r.v[0] = _mm512_castsi512_ps(_mm512_maskz_add_epi32(in_range, p, power));
  return r;
}
// 2^x. REQUIRES: x is an integer and x <= 0.
FT_INLINE F PowerOfTwo(F x) {
  F r;
  r.v[0] = _mm512_scalef_ps(_mm512_set1_ps(1.0f), x.v[0]);
  return r;
}
FT_INLINE F Ceil(F x) {
  F r;
  r.v[0] = _mm512_roundscale_ps(x.v[0], _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  return r;
}
#endif

}  // namespace foretoken::FT_ISA
