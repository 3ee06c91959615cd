// Micro-benchmark loops that execute only multiply-adds, or only loads.
#include <chrono>
#include <cstring>

#include "backend/cpu/cpu_options.h"
#include "eval/machine/bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace foretoken {
namespace {

constexpr int64_t kRounds = 2'000'000;  // of kAccumulators instructions: about ten milliseconds
constexpr int kAccumulators = 12;

using Clock = std::chrono::steady_clock;

// Returns the best rate of five runs of `loop`, which does kRounds * kAccumulators * lanes
// multiply-adds.
double BestRate(void (*loop)(), double lanes) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    loop();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(kRounds) * kAccumulators * lanes / seconds);
  }
  return best;
}

#if defined(__x86_64__)

// Assembly, because compilers sometimes spill an accumulator to memory.
#define FT_ON(op, reg, n) op " %%" reg "15, %%" reg "15, %%" reg #n "\n\t"
// clang-format 14 is not stable on these lines.
// clang-format off
#define FT_ON_ALL(op, reg)                                                                  \
  FT_ON(op, reg, 0)                                                                         \
  FT_ON(op, reg, 1)                                                                         \
  FT_ON(op, reg, 2)                                                                         \
  FT_ON(op, reg, 3)                                                                         \
  FT_ON(op, reg, 4) FT_ON(op, reg, 5) FT_ON(op, reg, 6) FT_ON(op, reg, 7) FT_ON(op, reg, 8) \
      FT_ON(op, reg, 9) FT_ON(op, reg, 10) FT_ON(op, reg, 11)
// clang-format on
// Twelve accumulators hide the latency; register 15 holds zeros.
#define FT_PEAK_LOOP(name, reg, clear, op)                                                 \
  void name() {                                                                            \
    asm volatile(FT_ON_ALL(clear, reg) FT_ON(clear, reg, 15)::: FT_CLOBBERS);              \
    for (int64_t i = 0; i < kRounds; ++i) asm volatile(FT_ON_ALL(op, reg)::: FT_CLOBBERS); \
  }
#define FT_CLOBBERS                                                                        \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm15"
FT_PEAK_LOOP(Int8Avx512, "zmm", "vpxord", "vpdpbusd")
FT_PEAK_LOOP(Bf16Avx512, "zmm", "vpxord", "vdpbf16ps")
FT_PEAK_LOOP(F32Avx512, "zmm", "vpxord", "vfmadd231ps")
FT_PEAK_LOOP(Int8AvxVnni, "ymm", "vpxor", "%{vex%} vpdpbusd")
FT_PEAK_LOOP(Int8Avx2, "ymm", "vpxor", "vpmaddubsw")
FT_PEAK_LOOP(F32Avx2, "ymm", "vpxor", "vfmadd231ps")
#undef FT_PEAK_LOOP
#undef FT_CLOBBERS
#undef FT_ON_ALL
#undef FT_ON

// AMX tile configuration: tiles 0 to 3 accumulate 16 rows x 16 outputs, summed over 64 bytes of
// inputs; tiles 4 and 5 hold the operands.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
};
#define FT_TILE_LOOP(name, op)                                                    \
  void name() {                                                                   \
    const TileShapes shapes;                                                      \
    asm volatile("ldtilecfg %0" ::"m"(shapes));                                   \
    for (int64_t i = 0; i < kRounds * kAccumulators / kTileShare; ++i) {          \
      asm volatile(op " %tmm5, %tmm4, %tmm0\n\t" op " %tmm5, %tmm4, %tmm1\n\t" op \
                      " %tmm5, %tmm4, %tmm2\n\t" op " %tmm5, %tmm4, %tmm3");      \
    }                                                                             \
    asm volatile("tilerelease");                                                  \
  }
// BestRate counts kRounds * kAccumulators instructions. The tile loops run one round of four tile
// instructions for each kTileShare of them.
constexpr int64_t kTileShare = 64;
FT_TILE_LOOP(Int8Amx, "tdpbusd")
FT_TILE_LOOP(Bf16Amx, "tdpbf16ps")
#undef FT_TILE_LOOP

bool IsBestIsa(CpuIsa isa) { return AvailableCpuIsas().back() == isa; }

bool HasVnni() { return __builtin_cpu_supports("avx512vnni"); }
bool HasBf16() { return HasVnni() && __builtin_cpu_supports("avx512bf16"); }
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#endif

void F32Portable() {
  volatile float sink = 0;
  float acc[kAccumulators] = {};
  for (int64_t i = 0; i < kRounds; ++i) {
    for (float& a : acc) a = a * 0.5f + 1.0f;
  }
  for (float a : acc) sink = sink + a;
}

// Reads `bytes` bytes in kStreams interleaved streams, prefetching kPrefetchBytes ahead in each.
template <size_t kStreams, size_t kPrefetchBytes>
uint64_t ReadStreams(const std::byte* data, size_t bytes) {
  constexpr size_t kLine = 64;
  const size_t part = bytes / kStreams / kLine * kLine;
  uint64_t sum = 0;
  for (size_t i = 0; i < part; i += kLine) {
    for (size_t stream = 0; stream < kStreams; ++stream) {
      const std::byte* at = data + stream * part + i;
      __builtin_prefetch(at + kPrefetchBytes, 0, 2);
      uint64_t word;
      std::memcpy(&word, at, sizeof(word));
      sum += word;
    }
  }
  return sum;
}

}  // namespace

double Int8Peak() {
#if defined(__x86_64__)
  if (IsBestIsa(CpuIsa::kAmx)) return BestRate(Int8Amx, 4.0 * 16 * 16 * 64 / kTileShare);
  if (HasVnni()) return BestRate(Int8Avx512, 64);
  if (IsBestIsa(CpuIsa::kAvxVnni)) return BestRate(Int8AvxVnni, 32);
  // Halved, because every vpmaddubsw needs a second instruction that adds pairs of products.
  if (HasAvx2()) return BestRate(Int8Avx2, 32) / 2;
#endif
  return F32Peak();
}

double Bf16Peak() {
#if defined(__x86_64__)
  if (IsBestIsa(CpuIsa::kAmx)) return BestRate(Bf16Amx, 4.0 * 16 * 16 * 32 / kTileShare);
  if (HasBf16()) return BestRate(Bf16Avx512, 32);
#endif
  return F32Peak();
}

double F32Peak() {
#if defined(__x86_64__)
  if (HasVnni()) return BestRate(F32Avx512, 16);
  if (HasAvx2()) return BestRate(F32Avx2, 8);
#endif
  return BestRate(F32Portable, 1);
}

double FirstCacheLoadRate() {
  constexpr int kWords = 512, kUnrolled = 8;
  constexpr int64_t kTimes = 40'000;
  alignas(64) const volatile uint64_t words[kWords] = {};
  const Clock::time_point start = Clock::now();
  for (int64_t time = 0; time < kTimes; ++time) {
    for (const volatile uint64_t* at = words; at < words + kWords; at += kUnrolled) {
      (void)at[0], (void)at[1], (void)at[2], (void)at[3];
      (void)at[4], (void)at[5], (void)at[6], (void)at[7];
    }
  }
  return static_cast<double>(kTimes) * kWords /
         std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t ReadLines(const std::byte* data, size_t bytes, int streams) {
  return streams == 1 ? ReadStreams<1, 2048>(data, bytes) : ReadStreams<4, 4096>(data, bytes);
}

}  // namespace foretoken
