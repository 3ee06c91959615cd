// Vectors of sixteen lanes on every instruction set. An operation gives the same bits on all sets,
// except for MulAdd. Only for files that define FT_ISA, each of which is compiled for one
// instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace foretoken::FT_ISA {

inline constexpr int kLanes = 16;
#if defined(__AVX512F__)
inline constexpr int kNative = 16;  // lanes of one register
#elif defined(__AVX2__)
inline constexpr int kNative = 8;
#else
inline constexpr int kNative = 4;
#endif
inline constexpr int kParts = kLanes / kNative;

using NativeF [[gnu::vector_size(kNative * 4)]] = float;
using NativeI [[gnu::vector_size(kNative * 4)]] = int32_t;
using NativeU [[gnu::vector_size(kNative * 4)]] = uint32_t;
using FourBytes [[gnu::aligned(1), gnu::may_alias]] = int32_t;

struct F {
  NativeF v[kParts];
};
// Signed integers; also 64 bytes, four to a lane.
struct I {
  NativeI v[kParts];
};

// Unrolling keeps the sums of a register tile in registers. Without wide registers, or under a
// sanitizer that checks every access, it gains nothing, and compiling the thousands of copies would
// take minutes.
#if defined(__has_feature)
#define FT_CHECKED __has_feature(address_sanitizer)
#else
#define FT_CHECKED 0
#endif
#if defined(__AVX2__) && !FT_CHECKED && !defined(__SANITIZE_ADDRESS__)
#define FT_PRAGMA(text) _Pragma(#text)
#define FT_UNROLL(times) FT_PRAGMA(GCC unroll times)
#else
#define FT_UNROLL(times)
#endif
#define FT_EACH_PART FT_UNROLL(4) for (int i = 0; i < kParts; ++i)

// Prefetches `bytes` bytes from p on, at least the first line; p need not be valid. kNearness: 3
// for the L1 cache; 2 for L2, which evicts nothing from L1.
template <int kNearness = 2>
FT_INLINE void Prefetch(const std::byte* p, int64_t bytes) {
  __builtin_prefetch(p, 0, kNearness);
  for (int64_t i = 64; i < bytes; i += 64) __builtin_prefetch(p + i, 0, kNearness);
}

// Prefetches the line at p for writing; p need not be valid.
FT_INLINE void PrefetchForWriting(const void* p) {
#if defined(__x86_64__)
  // Written in assembly, because compilers emit the instruction only with special options. On a CPU
  // that lacks it, it does nothing.
  const auto& line = *static_cast<const char*>(p);
  asm volatile("prefetchw %0" ::"m"(line));
#else
  __builtin_prefetch(p, 1);
#endif
}

// Reads four bytes at p, so that their line is loaded into the L1 cache. REQUIRES: they are
// readable.
FT_INLINE void Touch(const std::byte* p) {
  int word;
  __builtin_memcpy(&word, p, sizeof(word));
  asm volatile("" ::"r"(word));
}

// Returns p, hidden from the optimizer. The optimizer would otherwise compute hundreds of addresses
// from p ahead of a loop, and spill them.
FT_INLINE const std::byte* Opaque(const std::byte* p) {
  asm("" : "+r"(p));
  return p;
}

FT_INLINE F Splat(float x) {
  F r;
  FT_EACH_PART r.v[i] = x - NativeF{};
  return r;
}
FT_INLINE I Splat(int32_t x) {
  I r;
  FT_EACH_PART r.v[i] = x - NativeI{};
  return r;
}
FT_INLINE F Zero() {
  F r;
  FT_EACH_PART r.v[i] = NativeF{};
  return r;
}
// Loads register by register. A copy of all lanes at once would go through memory in pieces smaller
// than a register, and the following load of a register would stall.
FT_INLINE F Load(const float* p) {
  F r;
  FT_EACH_PART __builtin_memcpy(&r.v[i], p + i * kNative, sizeof(NativeF));
  return r;
}
FT_INLINE I LoadI(const void* p) {
  I r;
  FT_EACH_PART {
    __builtin_memcpy(&r.v[i], static_cast<const std::byte*>(p) + i * sizeof(NativeI),
                     sizeof(NativeI));
  }
  return r;
}
FT_INLINE void Store(F x, float* p) {
  FT_EACH_PART __builtin_memcpy(p + i * kNative, &x.v[i], sizeof(NativeF));
}
FT_INLINE void StoreI(I x, void* p) {
  FT_EACH_PART {
    __builtin_memcpy(static_cast<std::byte*>(p) + i * sizeof(NativeI), &x.v[i], sizeof(NativeI));
  }
}
// LoadFirst loads the first n lanes and sets the others to zero. StoreFirst stores only the first n
// lanes. REQUIRES: n > 0.
FT_INLINE F LoadFirst(const float* p, int64_t n) {
#if defined(__AVX512F__)
  F r;
  r.v[0] = _mm512_maskz_loadu_ps(static_cast<__mmask16>(n < kLanes ? (1 << n) - 1 : 0xffff), p);
  return r;
#else
  if (n >= kLanes) return Load(p);
  F r = Zero();
  __builtin_memcpy(&r, p, static_cast<size_t>(n) * 4);
  return r;
#endif
}
FT_INLINE void StoreFirst(F x, float* p, int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>(n < kLanes ? (1 << n) - 1 : 0xffff), x.v[0]);
#else
  __builtin_memcpy(p, &x, static_cast<size_t>(n < kLanes ? n : kLanes) * 4);
#endif
}

// The number of each lane: 0, 1, ..., 15.
FT_INLINE I LaneNumbers() {
  int32_t lanes[kLanes];
  for (int j = 0; j < kLanes; ++j) lanes[j] = j;
  return LoadI(lanes);
}

FT_INLINE F operator+(F a, F b) {
  FT_EACH_PART a.v[i] += b.v[i];
  return a;
}
FT_INLINE F operator-(F a, F b) {
  FT_EACH_PART a.v[i] -= b.v[i];
  return a;
}
FT_INLINE F operator*(F a, F b) {
  FT_EACH_PART a.v[i] *= b.v[i];
  return a;
}
FT_INLINE F operator/(F a, F b) {
  FT_EACH_PART a.v[i] /= b.v[i];
  return a;
}
FT_INLINE I operator+(I a, I b) {
  FT_EACH_PART a.v[i] += b.v[i];
  return a;
}
FT_INLINE I operator-(I a, I b) {
  FT_EACH_PART a.v[i] -= b.v[i];
  return a;
}
FT_INLINE I operator&(I a, I b) {
  FT_EACH_PART a.v[i] &= b.v[i];
  return a;
}
FT_INLINE I operator|(I a, I b) {
  FT_EACH_PART a.v[i] |= b.v[i];
  return a;
}
FT_INLINE I operator^(I a, I b) {
  FT_EACH_PART a.v[i] ^= b.v[i];
  return a;
}
FT_INLINE I ShiftLeft(I a, int bits) {
  FT_EACH_PART a.v[i] <<= bits;
  return a;
}
FT_INLINE I ShiftRight(I a, int bits) {  // logical
  FT_EACH_PART a.v[i] = reinterpret_cast<NativeI>(reinterpret_cast<NativeU>(a.v[i]) >> bits);
  return a;
}
FT_INLINE F AsF(I a) {
  F r;
  FT_EACH_PART r.v[i] = reinterpret_cast<NativeF>(a.v[i]);
  return r;
}
FT_INLINE I AsI(F a) {
  I r;
  FT_EACH_PART r.v[i] = reinterpret_cast<NativeI>(a.v[i]);
  return r;
}
FT_INLINE F ToF(I a) {
  F r;
  FT_EACH_PART r.v[i] = __builtin_convertvector(a.v[i], NativeF);
  return r;
}
// Comparisons set all bits of the lanes where they hold.
FT_INLINE I Greater(F a, F b) {
  I r;
  FT_EACH_PART r.v[i] = a.v[i] > b.v[i];
  return r;
}
FT_INLINE I Greater(I a, I b) {
  I r;
  FT_EACH_PART r.v[i] = a.v[i] > b.v[i];
  return r;
}
FT_INLINE I Unordered(F a) {
  I r;
  FT_EACH_PART r.v[i] = a.v[i] != a.v[i];
  return r;
}
FT_INLINE F Select(I mask, F a, F b) {
  FT_EACH_PART a.v[i] = mask.v[i] ? a.v[i] : b.v[i];
  return a;
}
FT_INLINE I Select(I mask, I a, I b) {
  FT_EACH_PART a.v[i] = mask.v[i] ? a.v[i] : b.v[i];
  return a;
}
FT_INLINE F Max(F a, F b) { return Select(Greater(a, b), a, b); }
FT_INLINE F Abs(F a) { return AsF(AsI(a) & Splat(0x7fffffff)); }

// a * b + c, rounded once.
FT_INLINE F Fma(F a, F b, F c) {
#if defined(__AVX512F__)
  c.v[0] = _mm512_fmadd_ps(a.v[0], b.v[0], c.v[0]);
#elif defined(__AVX2__)
  FT_EACH_PART c.v[i] = _mm256_fmadd_ps(a.v[i], b.v[i], c.v[i]);
#else
  FT_EACH_PART {
    for (int j = 0; j < kNative; ++j) c.v[i][j] = __builtin_fmaf(a.v[i][j], b.v[i][j], c.v[i][j]);
  }
#endif
  return c;
}
// a * b + c, rounded once in instruction sets with fused multiply-add, twice in others.
FT_INLINE F MulAdd(F a, F b, F c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return Fma(a, b, c);
#else
  return a * b + c;
#endif
}

// The sum of the lanes: lanes 4 apart first, as (0 + 8) + (4 + 12); then the four sums, as
// (0 + 2) + (1 + 3).
FT_INLINE float Sum(F a) {
  float x[kLanes], y[4];
  Store(a, x);
  for (int i = 0; i < 4; ++i) y[i] = (x[i] + x[i + 8]) + (x[i + 4] + x[i + 12]);
  return (y[0] + y[2]) + (y[1] + y[3]);
}
// Writes lane i of x[j] to out[16 i + j].
FT_INLINE void StoreTransposed(const F x[kLanes], float* out) {
#if defined(__AVX512F__)
  // Vectors 2 k and 2 k + 1, interleaved. [2 k]: lanes 0 and 1 of each four; [2 k + 1]: 2 and 3.
  __m512d pair[16];
  FT_UNROLL(8)
  for (int k = 0; k < 8; ++k) {
    const __m512 a = x[2 * k].v[0], b = x[2 * k + 1].v[0];
    pair[2 * k] = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
    pair[2 * k + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
  }
  __m512 four[4][4];  // [k][i]: lane i of each four lanes of vectors 4 k ... 4 k + 3
  FT_UNROLL(4)
  for (int k = 0; k < 4; ++k) {
    FT_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const __m512d a = pair[4 * k + i / 2], b = pair[4 * k + 2 + i / 2];
      four[k][i] =
          _mm512_castpd_ps(i % 2 == 0 ? _mm512_unpacklo_pd(a, b) : _mm512_unpackhi_pd(a, b));
    }
  }
  FT_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_shuffle_f32x4(four[0][i], four[1][i], 0x88);
    const __m512 b = _mm512_shuffle_f32x4(four[2][i], four[3][i], 0x88);
    const __m512 c = _mm512_shuffle_f32x4(four[0][i], four[1][i], 0xdd);
    const __m512 d = _mm512_shuffle_f32x4(four[2][i], four[3][i], 0xdd);
    _mm512_storeu_ps(out + 16 * i, _mm512_shuffle_f32x4(a, b, 0x88));
    _mm512_storeu_ps(out + 16 * (4 + i), _mm512_shuffle_f32x4(c, d, 0x88));
    _mm512_storeu_ps(out + 16 * (8 + i), _mm512_shuffle_f32x4(a, b, 0xdd));
    _mm512_storeu_ps(out + 16 * (12 + i), _mm512_shuffle_f32x4(c, d, 0xdd));
  }
#else
  for (int j = 0; j < kLanes; ++j) {
    float lanes[kLanes];
    Store(x[j], lanes);
    for (int i = 0; i < kLanes; ++i) out[kLanes * i + j] = lanes[i];
  }
#endif
}
FT_INLINE float MaxLane(F a) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps(a.v[0]);
#else
  float x[kLanes];
  Store(a, x);
  float best = x[0];
  for (int i = 1; i < kLanes; ++i) best = x[i] > best ? x[i] : best;
  return best;
#endif
}
FT_INLINE int32_t Sum(I a) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_epi32(reinterpret_cast<__m512i>(a.v[0]));
#else
  int32_t x[kLanes];
  __builtin_memcpy(x, &a, sizeof(x));
  int32_t sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += x[i];
  return sum;
#endif
}

// acc + the sum of four products in each lane: the unsigned bytes of `codes` times the four signed
// bytes at p.
#if defined(__AVX512VNNI__)
FT_INLINE I Dot4(I acc, I codes, const std::byte* p) {
  // Written in assembly, because GCC 12 would load the four bytes with a separate instruction.
  const auto& four = *reinterpret_cast<const FourBytes*>(p);
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc.v[0]) : "v"(codes.v[0]), "m"(four));
  return acc;
}
// Dot4 with the signed bytes in a register: the same in every lane, or different ones.
FT_INLINE I Dot4(I acc, I codes, I fours) {
  asm("vpdpbusd %2, %1, %0" : "+v"(acc.v[0]) : "v"(codes.v[0]), "v"(fours.v[0]));
  return acc;
}
// Repeats the four bytes at p in every lane.
FT_INLINE I SplatFour(const std::byte* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return Splat(four);
}
#else
#if defined(__AVXVNNI__)
FT_INLINE __m256i DotBytes(__m256i acc, __m256i codes, __m256i a) {
  return _mm256_dpbusd_avx_epi32(acc, codes, a);
}
#elif defined(FT_EMULATED_VNNI)  // for tests: multiplies bytes as 16-bit values
FT_INLINE __m256i DotBytes(__m256i acc, __m256i codes, __m256i a) {
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(codes, _mm256_set1_epi16(255)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(codes, 8), _mm256_srai_epi16(a, 8));
  return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}
#endif
FT_INLINE I Dot4(I acc, I codes, const std::byte* p) {
  int32_t four;
  __builtin_memcpy(&four, p, 4);
#if defined(__AVXVNNI__) || defined(FT_EMULATED_VNNI)
  const __m256i a = _mm256_set1_epi32(four);
  FT_EACH_PART {
    acc.v[i] = reinterpret_cast<NativeI>(
        DotBytes(reinterpret_cast<__m256i>(acc.v[i]), reinterpret_cast<__m256i>(codes.v[i]), a));
  }
#elif defined(__AVX2__)
  const __m256i a = _mm256_set1_epi32(four), ones = _mm256_set1_epi16(1);
  FT_EACH_PART {
    const __m256i pairs = _mm256_maddubs_epi16(reinterpret_cast<__m256i>(codes.v[i]), a);
    acc.v[i] += reinterpret_cast<NativeI>(_mm256_madd_epi16(pairs, ones));
  }
#else
  for (int j = 0; j < 4; ++j) {
    const int32_t a = four << (24 - 8 * j) >> 24;
    FT_EACH_PART acc.v[i] += (codes.v[i] >> (8 * j) & 255) * a;
  }
#endif
  return acc;
}
#endif

// Whether codes for Dot4 must be at most 127. With larger ones, the sums of two products would not
// fit in 16 bits.
#if defined(__AVX2__) && !defined(__AVX512VNNI__) && !defined(__AVXVNNI__) && \
    !defined(FT_EMULATED_VNNI)
inline constexpr bool kSignedBytesOnly = true;
#else
inline constexpr bool kSignedBytesOnly = false;
#endif
// Dot4 with signed codes. Multiplies the absolute values of the codes, as unsigned bytes, by the
// bytes at p with the codes' signs. REQUIRES: no byte at p is -128; kSignedBytesOnly. Dot4Signed
// and AddPairProducts are written in assembly, because GCC 12 would compute operands ahead of a
// loop and spill them.
FT_INLINE I Dot4Signed(I acc, I codes, const std::byte* p) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const auto& four = *reinterpret_cast<const FourBytes*>(p);
  const auto lower = reinterpret_cast<__m256i>(codes.v[0]);
  const auto upper = reinterpret_cast<__m256i>(codes.v[1]);
  __m256i bytes, products;  // scratch registers
  asm("vpbroadcastd %8, %2\n\t"
      "vpsignb %4, %2, %3\n\t"
      "vpmaddubsw %3, %6, %3\n\t"
      "vpmaddwd %9, %3, %3\n\t"
      "vpaddd %3, %0, %0\n\t"
      "vpsignb %5, %2, %2\n\t"
      "vpmaddubsw %2, %7, %2\n\t"
      "vpmaddwd %9, %2, %2\n\t"
      "vpaddd %2, %1, %1"
      : "+&x"(acc.v[0]), "+&x"(acc.v[1]), "=&x"(bytes), "=&x"(products)
      : "x"(lower), "x"(upper), "x"(_mm256_abs_epi8(lower)), "x"(_mm256_abs_epi8(upper)), "m"(four),
        "x"(_mm256_set1_epi16(1)));
#endif
  (void)codes, (void)p;
  return acc;
}

// The number of code vectors (number_format.h) whose sums of two products can be added up in 16
// bits (AddPairProducts), for codes below 2^bits. The totals are widened only at the end
// (FoldPairs), so that a vector takes half the instructions of a Dot4. 0 where this is not done,
// for example where Dot4 is one instruction.
constexpr int PairVectors(int bits) {
  return kSignedBytesOnly && bits < 7 ? 32767 / (2 * 127 * ((1 << bits) - 1)) : 0;
}
// Returns 32 sums of two products in 16 bits: the unsigned bytes of `codes` times the four signed
// bytes at p. AddPairProducts adds these sums to acc.
FT_INLINE I PairProducts(I codes, const std::byte* p) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  int32_t four;
  __builtin_memcpy(&four, p, 4);
  const __m256i a = _mm256_set1_epi32(four);
  FT_EACH_PART {
    codes.v[i] =
        reinterpret_cast<NativeI>(_mm256_maddubs_epi16(reinterpret_cast<__m256i>(codes.v[i]), a));
  }
#endif
  (void)p;
  return codes;
}
FT_INLINE I AddPairProducts(I acc, I codes, const std::byte* p) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const auto& four = *reinterpret_cast<const FourBytes*>(p);
  __m256i bytes, products;
  asm("vpbroadcastd %6, %2\n\t"
      "vpmaddubsw %2, %4, %3\n\t"
      "vpaddw %3, %0, %0\n\t"
      "vpmaddubsw %2, %5, %2\n\t"
      "vpaddw %2, %1, %1"
      : "+&x"(acc.v[0]), "+&x"(acc.v[1]), "=&x"(bytes), "=&x"(products)
      : "x"(codes.v[0]), "x"(codes.v[1]), "m"(four));
#endif
  (void)codes, (void)p;
  return acc;
}
// acc + both 16-bit sums in each lane of `pairs`.
FT_INLINE I FoldPairs(I acc, I pairs) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  FT_EACH_PART {
    acc.v[i] += reinterpret_cast<NativeI>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(pairs.v[i]), _mm256_set1_epi16(1)));
  }
#endif
  (void)pairs;
  return acc;
}

// LoadHalf and LoadBf16 load sixteen values of two bytes as floats.
FT_INLINE F LoadHalf(const void* p) {
  F r;
#if defined(__AVX512F__)
  r.v[0] = _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
#elif defined(__F16C__)
  FT_EACH_PART r.v[i] = _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p) + i));
#else
  uint16_t bits[kLanes];
  __builtin_memcpy(bits, p, sizeof(bits));
  for (int j = 0; j < kLanes; ++j) {
    const uint32_t sign = static_cast<uint32_t>(bits[j] & 0x8000u) << 16;
    const uint32_t exponent = bits[j] >> 10 & 0x1fu, mantissa = bits[j] & 0x3ffu;
    float value = static_cast<float>(mantissa) * 0x1.0p-24f;
    if (exponent != 0) {
      const uint32_t wide = (exponent == 0x1f ? 0xffu : exponent + 112) << 23 | mantissa << 13;
      __builtin_memcpy(&value, &wide, 4);
    }
    r.v[j / kNative][j % kNative] = sign != 0 ? -value : value;
  }
#endif
  return r;
}
FT_INLINE F LoadBf16(const void* p) {
  F r;
#if defined(__AVX512F__)
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  r.v[0] = _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
#else
  using Narrow [[gnu::vector_size(kNative * 2)]] = uint16_t;
  FT_EACH_PART {
    Narrow bits;
    __builtin_memcpy(&bits, static_cast<const std::byte*>(p) + i * sizeof(bits), sizeof(bits));
    r.v[i] = reinterpret_cast<NativeF>(__builtin_convertvector(bits, NativeU) << 16);
  }
#endif
  return r;
}
#if defined(__F16C__)
// Stores sixteen halves, rounded to nearest even.
FT_INLINE void StoreHalf(F x, void* p) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(static_cast<__m256i*>(p),
                      _mm512_cvtps_ph(x.v[0], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  FT_EACH_PART {
    _mm_storeu_si128(static_cast<__m128i*>(p) + i,
                     _mm256_cvtps_ph(x.v[i], _MM_FROUND_TO_NEAREST_INT));
  }
#endif
}
#endif
// Where the functions from here on use intrinsics, GCC 12 would widen or narrow a vector of bytes
// piece by piece.
FT_INLINE I LoadU8(const void* p) {
  I r;
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
  r.v[0] = reinterpret_cast<NativeI>(_mm512_cvtepu8_epi32(bytes));
#elif defined(__AVX2__)
  FT_EACH_PART {
    const __m128i bytes =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(static_cast<const std::byte*>(p) + 8 * i));
    r.v[i] = reinterpret_cast<NativeI>(_mm256_cvtepu8_epi32(bytes));
  }
#else
  uint8_t bytes[kLanes];
  __builtin_memcpy(bytes, p, sizeof(bytes));
  for (int j = 0; j < kLanes; ++j) r.v[j / kNative][j % kNative] = bytes[j];
#endif
  return r;
}
FT_INLINE I LoadS8(const void* p) {
#if defined(__AVX512F__)
  I r;
  const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
  r.v[0] = reinterpret_cast<NativeI>(_mm512_cvtepi8_epi32(bytes));
  return r;
#else
  const I sign = Splat(0x80);
  return (LoadU8(p) ^ sign) - sign;
#endif
}
// Stores the low byte of each lane.
FT_INLINE void StoreLow8(I x, void* p) {
#if defined(__AVX512F__)
  _mm_storeu_si128(static_cast<__m128i*>(p),
                   _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(x.v[0])));
#else
  uint8_t bytes[kLanes];
  for (int j = 0; j < kLanes; ++j) bytes[j] = static_cast<uint8_t>(x.v[j / kNative][j % kNative]);
  __builtin_memcpy(p, bytes, sizeof(bytes));
#endif
}
FT_INLINE void StoreLow16(I x, void* p) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(static_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(x.v[0])));
#else
  uint16_t words[kLanes];
  for (int j = 0; j < kLanes; ++j) words[j] = static_cast<uint16_t>(x.v[j / kNative][j % kNative]);
  __builtin_memcpy(p, words, sizeof(words));
#endif
}

}  // namespace foretoken::FT_ISA
