// Loops that do nothing but multiply and add, or nothing but read.
#include <chrono>
#include <cstring>

#include "bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace foretoken {
namespace {

constexpr int64_t kRounds = 2'000'000;  // of 16 independent accumulators: under ten milliseconds

using Clock = std::chrono::steady_clock;

// The best of a few runs of `loop`, which does kRounds * 16 * lanes multiply-adds.
double BestRate(void (*loop)(), double lanes) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    loop();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(kRounds) * 16 * lanes / seconds);
  }
  return best;
}

#if defined(__x86_64__)

// Sixteen accumulators hide the latency; the empty assembly keeps them from being folded.
#define FT_PEAK_LOOP(name, isa, vector, zero, step)           \
  __attribute__((target(isa))) void name() {                  \
    vector acc[16];                                           \
    const vector x = zero;                                    \
    for (vector & a : acc) a = zero;                          \
    for (int64_t i = 0; i < kRounds; ++i) {                   \
      _Pragma("GCC unroll 16") for (int j = 0; j < 16; ++j) { \
        acc[j] = step;                                        \
        asm volatile("" : "+v"(acc[j]));                      \
      }                                                       \
    }                                                         \
  }
FT_PEAK_LOOP(Int8Avx512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(),
             _mm512_dpbusd_epi32(acc[j], x, x))
FT_PEAK_LOOP(Bf16Avx512, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(),
             _mm512_dpbf16_ps(acc[j], reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(x)))
FT_PEAK_LOOP(F32Avx512, "avx512f", __m512, _mm512_setzero_ps(), _mm512_fmadd_ps(x, x, acc[j]))
FT_PEAK_LOOP(Int8Avx2, "avx2", __m256i, _mm256_setzero_si256(),
             _mm256_add_epi32(acc[j], _mm256_madd_epi16(_mm256_maddubs_epi16(x, acc[j]), x)))
FT_PEAK_LOOP(F32Avx2, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_fmadd_ps(x, x, acc[j]))
#undef FT_PEAK_LOOP

__attribute__((target("avx512f"))) uint64_t SumAvx512(const std::byte* data, size_t bytes) {
  __m512i sum[4] = {};
  for (size_t i = 0; i + 256 <= bytes; i += 256) {
    for (size_t j = 0; j < 4; ++j) {
      sum[j] = _mm512_add_epi64(sum[j], _mm512_loadu_si512(data + i + 64 * j));
    }
  }
  uint64_t words[8];
  std::memcpy(words, &sum[0], sizeof(words));
  asm volatile("" : : "v"(sum[1]), "v"(sum[2]), "v"(sum[3]));
  return words[0];
}

bool HasAvx512() {
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#endif

uint64_t SumPortable(const std::byte* data, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, data + i, sizeof(word));
    sum += word;
  }
  return sum;
}

void F32Portable() {
  volatile float sink = 0;
  float acc[16] = {};
  for (int64_t i = 0; i < kRounds; ++i) {
    for (float& a : acc) a = a * 0.5f + 1.0f;
  }
  for (float a : acc) sink = sink + a;
}

}  // namespace

double Int8Peak() {
#if defined(__x86_64__)
  if (HasAvx512()) return BestRate(Int8Avx512, 64);
  if (HasAvx2()) return BestRate(Int8Avx2, 32);
#endif
  return F32Peak();
}

double Bf16Peak() {
#if defined(__x86_64__)
  if (HasAvx512()) return BestRate(Bf16Avx512, 32);
#endif
  return F32Peak();
}

double F32Peak() {
#if defined(__x86_64__)
  if (HasAvx512()) return BestRate(F32Avx512, 16);
  if (HasAvx2()) return BestRate(F32Avx2, 8);
#endif
  return BestRate(F32Portable, 1);
}

uint64_t SumWords(const std::byte* data, size_t bytes) {
#if defined(__x86_64__)
  if (HasAvx512()) return SumAvx512(data, bytes);
#endif
  return SumPortable(data, bytes);
}

}  // namespace foretoken
