// Rounding activations to int8 for sixteen rows at a time, on AVX-512: what is summed across a
// row's lanes one by one elsewhere is summed for all rows together. The bits are the same.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/vec.h"
#include "backend/cpu/vec_math.h"

namespace foretoken::FT_ISA {

// What follows the codes of a row's block, a lane a row, given the sums of its codes' halves;
// returns how many numbers.
template <TileKind kKind>
FT_INLINE int TileNumbers(F base, I first, I last, F numbers[3]) {
  const I bits = AsI(base);
  const auto start = [&](I sum, int shift) { return AsF(bits - ShiftLeft(sum, shift)); };
  numbers[0] = base;
  if constexpr (kKind == TileKind::kInt8Sum) numbers[1] = AsF(bits + first + last) - base;
  if constexpr (kKind == TileKind::kInt8Zero8) numbers[1] = start(first + last, 3);
  if constexpr (kKind == TileKind::kInt8Zero16) numbers[1] = start(first + last, 4);
  if constexpr (kKind == TileKind::kInt8Zero128) numbers[1] = start(first + last, 7);
  if constexpr (kKind != TileKind::kInt8Zero32) return 2;
  numbers[1] = start(first, 5);
  numbers[2] = start(last, 5);
  return 3;
}

#if defined(__AVX512F__)
// Lane i of the result is x[i]'s lanes folded by `fold`, which takes and gives F.
template <typename Fold>
FT_INLINE F FoldEach(const F x[kLanes], Fold fold) {
  const auto of = [](__m512 v) {
    F r;
    r.v[0] = v;
    return r;
  };
  __m512d two[8];  // lanes of x[2 k] and x[2 k + 1] in turn
  FT_UNROLL(8)
  for (int k = 0; k < 8; ++k) {
    const __m512 a = x[2 * k].v[0], b = x[2 * k + 1].v[0];
    two[k] =
        _mm512_castps_pd(fold(of(_mm512_unpacklo_ps(a, b)), of(_mm512_unpackhi_ps(a, b))).v[0]);
  }
  __m512 four[4];  // of x[4 k] ... x[4 k + 3] in turn
  FT_UNROLL(4)
  for (int k = 0; k < 4; ++k) {
    const __m512d a = two[2 * k], b = two[2 * k + 1];
    four[k] = fold(of(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b))),
                   of(_mm512_castpd_ps(_mm512_unpackhi_pd(a, b))))
                  .v[0];
  }
  const auto quarters = [&](__m512 a, __m512 b) {
    return fold(of(_mm512_shuffle_f32x4(a, b, 0x88)), of(_mm512_shuffle_f32x4(a, b, 0xdd))).v[0];
  };
  return of(quarters(quarters(four[0], four[1]), quarters(four[2], four[3])));
}

// Sixteen inputs of each row become codes at out[i] + column; returns the codes' sums, a lane a
// row.
FT_INLINE I RoundHalves(const float* const rows[kLanes], const float* bases, int count,
                        std::byte* const out[kLanes], int column) {
  F based[kLanes];
  FT_UNROLL(16)
  for (int i = 0; i < kLanes; ++i) {
    based[i] = Finite(Load(rows[i])) + Splat(bases[i]);
    if (i < count) StoreLow8(AsI(based[i]), out[i] + column);  // a base's low byte is zero
  }
  const F sums = FoldEach(based, [](F a, F b) { return AsF(AsI(a) + AsI(b)); });
  return AsI(sums) - ShiftLeft(AsI(Load(bases)), 4);
}

// One block of `count` <= 16 rows, in chunks of `chunk_rows` of an int8 tile; rows beyond point to
// zeros. REQUIRES: one chunk, or two of eight.
template <TileKind kKind>
void QuantiseChunks(const float* const rows[kLanes], int count, int chunk_rows, std::byte* block) {
  constexpr int64_t kNumberBytes = TileBlockBytes(kKind) - kBlock;
  F tops[kLanes];
  const float* second[kLanes];
  std::byte* out[kLanes];
  FT_UNROLL(16)
  for (int i = 0; i < kLanes; ++i) {
    second[i] = rows[i] + kLanes;
    out[i] = block + i * kBlock + (i < chunk_rows ? 0 : chunk_rows * kNumberBytes);
    tops[i] = Max(Abs(Finite(Load(rows[i]))), Abs(Finite(Load(second[i]))));
  }
  const F base = BaseOf(FoldEach(tops, [](F a, F b) { return Max(a, b); }));
  float bases[kLanes];
  Store(base, bases);
  const I first = RoundHalves(rows, bases, count, out, 0);
  const I last = RoundHalves(second, bases, count, out, kLanes);
  F numbers[3];
  const int number_count = TileNumbers<kKind>(base, first, last, numbers);
  auto* to = reinterpret_cast<float*>(block + chunk_rows * kBlock);
  FT_UNROLL(3)
  for (int i = 0; i < number_count; ++i) {
    StoreFirst(numbers[i], to, chunk_rows);
    if (count > chunk_rows) {
      float lanes[kLanes];
      Store(numbers[i], lanes);
      __builtin_memcpy(to + 8 * TileBlockBytes(kKind) / 4, lanes + 8, 32);
    }
    to += chunk_rows;
  }
}
#endif

}  // namespace foretoken::FT_ISA
