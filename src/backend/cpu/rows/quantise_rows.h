// Rounding of activations to int8 for eight or sixteen rows at a time, on AVX-512. Maxima and sums
// across lanes, which other sets compute row by row, are computed for all rows together. The bits
// are the same.
#pragma once

#include "backend/cpu/isa/vec.h"
#include "backend/cpu/isa/vec_math.h"
#include "backend/cpu/kernels.h"

namespace foretoken::FT_ISA {

// Computes the values that follow the codes of a block (TileKind), a lane for each row, from the
// sums over the first and over the last half of its codes. Returns how many values there are.
template <TileKind kKind>
FT_INLINE int TileNumbers(F base, I first, I last, F values[3]) {
  const I bits = AsI(base);
  const auto start = [&](I sum, int shift) { return AsF(bits - ShiftLeft(sum, shift)); };
  values[0] = base;
  if constexpr (kKind == TileKind::kInt8Sum) values[1] = AsF(bits + first + last) - base;
  if constexpr (kKind == TileKind::kInt8Zero8) values[1] = start(first + last, 3);
  if constexpr (kKind == TileKind::kInt8Zero16) values[1] = start(first + last, 4);
  if constexpr (kKind == TileKind::kInt8Zero128) values[1] = start(first + last, 7);
  if constexpr (kKind != TileKind::kInt8Zero32) return 2;
  values[1] = start(first, 5);
  values[2] = start(last, 5);
  return 3;
}

#if defined(__AVX512F__)
// Lane i of the result, i < kRows, is the highest of x[i]'s lanes, compared as integers. kRows: 8
// or 16.
template <int kRows>
FT_INLINE I HighestLanes(const I x[kRows]) {
  const auto highest = [](__m512i a, __m512i b) { return _mm512_max_epi32(a, b); };
  const auto at = [&](int i) { return reinterpret_cast<__m512i>(x[i].v[0]); };
  __m512i two[kRows / 2];  // [k]: maxima of lanes of x[2 k] and x[2 k + 1], interleaved
  FT_UNROLL(8)
  for (int k = 0; k < kRows / 2; ++k) {
    two[k] = highest(_mm512_unpacklo_epi32(at(2 * k), at(2 * k + 1)),
                     _mm512_unpackhi_epi32(at(2 * k), at(2 * k + 1)));
  }
  __m512i four[kRows / 4];  // [k]: maxima of lanes of x[4 k] ... x[4 k + 3], interleaved
  FT_UNROLL(4)
  for (int k = 0; k < kRows / 4; ++k) {
    four[k] = highest(_mm512_unpacklo_epi64(two[2 * k], two[2 * k + 1]),
                      _mm512_unpackhi_epi64(two[2 * k], two[2 * k + 1]));
  }
  const auto quarters = [&](__m512i a, __m512i b) {
    return highest(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  };
  const __m512i first = quarters(four[0], four[1]);
  I r;
  if constexpr (kRows == 8) {
    r.v[0] = reinterpret_cast<NativeI>(quarters(first, first));
  } else {
    r.v[0] = reinterpret_cast<NativeI>(quarters(first, quarters(four[2], four[3])));
  }
  return r;
}

// The codes of two rows. A row has four dwords in its first half and four in its last; quarter k of
// the result has dword k of all four halves.
FT_INLINE __m512i PackedCodes(const float* first_row, const float* second_row, F first_base,
                              F second_base) {
  const auto code = [](const float* x, F base) {
    return reinterpret_cast<__m512i>((AsI(Load(x) + base) - AsI(base)).v[0]);
  };
  const __m512i first =
      _mm512_packs_epi32(code(first_row, first_base), code(first_row + kLanes, first_base));
  const __m512i second =
      _mm512_packs_epi32(code(second_row, second_base), code(second_row + kLanes, second_base));
  return _mm512_packs_epi16(first, second);
}

// Sums the codes of the first and of the last half of each row, a lane for each row. `fours` has
// the sums of four codes for each pair of rows, in the layout of PackedCodes.
template <int kRows>
FT_INLINE void SumHalves(const __m512i fours[kRows / 2], I* first, I* last) {
  const auto quarters = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  };
  __m512i sums[2];  // per row, the sums of the first and of the last half
  FT_UNROLL(2)
  for (int k = 0; k < kRows / 8; ++k) {
    const __m512i* four = fours + 4 * k;
    sums[k] = quarters(quarters(four[0], four[1]), quarters(four[2], four[3]));
  }
  if (kRows == 8) sums[1] = sums[0];
  const __m512i even_lanes =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd_lanes = _mm512_add_epi32(even_lanes, _mm512_set1_epi32(1));
  first->v[0] = reinterpret_cast<NativeI>(_mm512_permutex2var_epi32(sums[0], even_lanes, sums[1]));
  last->v[0] = reinterpret_cast<NativeI>(_mm512_permutex2var_epi32(sums[0], odd_lanes, sums[1]));
}

// Rounds one block of `count` <= kRows rows to an int8 tile with chunks of `chunk_rows` rows;
// pointers beyond `count` point to zeros. kRows: 8 or 16. REQUIRES: one chunk, or two of eight.
template <TileKind kKind, int kRows>
void QuantiseChunks(const float* const rows[kRows], int count, int chunk_rows, std::byte* block) {
  I tops[kRows];
  FT_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    const I a = AsI(Abs(Load(rows[i]))), b = AsI(Abs(Load(rows[i] + kLanes)));
    tops[i] = Select(Greater(a, b), a, b);
  }
  const I top = HighestLanes<kRows>(tops);
  if (Sum(Greater(top, Splat(0x7f7fffff))) != 0) {  // infinities and NaNs become zeros
    alignas(64) float clean[kRows][kBlock];
    const float* cleaned[kRows];
    for (int i = 0; i < kRows; ++i) {
      Store(Finite(Load(rows[i])), clean[i]);
      Store(Finite(Load(rows[i] + kLanes)), clean[i] + kLanes);
      cleaned[i] = clean[i];
    }
    return QuantiseChunks<kKind, kRows>(cleaned, count, chunk_rows, block);
  }
  const F base = BaseOf(AsF(top));
  float bases[kLanes];
  Store(base, bases);
  const __m512i in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i fours[kRows / 2] = {};
  constexpr int64_t kValueBytes = TileBlockBytes(kKind) - kBlock;
  for (int i = 0; i < count; i += 2) {
    const __m512i codes = PackedCodes(rows[i], rows[i + 1], Splat(bases[i]), Splat(bases[i + 1]));
    fours[i / 2] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), codes);
    std::byte* out = block + i * kBlock + (i < chunk_rows ? 0 : chunk_rows * kValueBytes);
    const __m512i ordered = _mm512_permutexvar_epi32(in_order, codes);
    if (i + 1 < count) {
      _mm512_storeu_si512(out, ordered);
    } else {  // values of other rows may follow an odd last row
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(ordered));
    }
  }
  I first, last;
  SumHalves<kRows>(fours, &first, &last);
  F values[3];
  const int value_count = TileNumbers<kKind>(base, first, last, values);
  auto* to = reinterpret_cast<float*>(block + chunk_rows * kBlock);
  FT_UNROLL(3)
  for (int i = 0; i < value_count; ++i) {
    StoreFirst(values[i], to, chunk_rows);
    if (count > chunk_rows) {
      float lanes[kLanes];
      Store(values[i], lanes);
      __builtin_memcpy(to + 8 * TileBlockBytes(kKind) / 4, lanes + 8, 32);
    }
    to += chunk_rows;
  }
}
#endif

}  // namespace foretoken::FT_ISA
