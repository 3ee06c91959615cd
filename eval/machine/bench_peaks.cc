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

// Iterations of a loop over kAccumulators instructions; about ten milliseconds in total.
constexpr int64_t kRounds = 2'000'000;
constexpr int kAccumulators = 12;

using Clock = std::chrono::steady_clock;

// Returns the best rate of five runs of `loop`, in multiply-adds per second. `loop` does kRounds *
// kAccumulators * macs_per_instruction of them.
double BestRate(void (*loop)(), double macs_per_instruction) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    loop();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best,
                    static_cast<double>(kRounds) * kAccumulators * macs_per_instruction / seconds);
  }
  return best;
}

#if defined(__x86_64__)

// Assembly, because compilers sometimes spill an accumulator to memory. FT_OP_ON_REG applies `op`
// to register n, with register 15 as both sources.
#define FT_OP_ON_REG(op, reg, n) op " %%" reg "15, %%" reg "15, %%" reg #n "\n\t"
// clang-format 14 is not stable on these lines.
// clang-format off
#define FT_OP_ON_ALL(op, reg)                                                  \
  FT_OP_ON_REG(op, reg, 0) FT_OP_ON_REG(op, reg, 1) FT_OP_ON_REG(op, reg, 2)   \
  FT_OP_ON_REG(op, reg, 3) FT_OP_ON_REG(op, reg, 4) FT_OP_ON_REG(op, reg, 5)   \
  FT_OP_ON_REG(op, reg, 6) FT_OP_ON_REG(op, reg, 7) FT_OP_ON_REG(op, reg, 8)   \
  FT_OP_ON_REG(op, reg, 9) FT_OP_ON_REG(op, reg, 10) FT_OP_ON_REG(op, reg, 11)
// clang-format on
// Twelve accumulators hide the latency; register 15 holds zeros.
#define FT_PEAK_LOOP(name, reg, clear, op)                                                    \
  void name() {                                                                               \
    asm volatile(FT_OP_ON_ALL(clear, reg) FT_OP_ON_REG(clear, reg, 15)::: FT_CLOBBERS);       \
    for (int64_t i = 0; i < kRounds; ++i) asm volatile(FT_OP_ON_ALL(op, reg)::: FT_CLOBBERS); \
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
#undef FT_OP_ON_ALL
#undef FT_OP_ON_REG

// AMX tile configuration: tiles 0 to 3 accumulate 16 rows x 16 outputs, summed over 64 bytes of
// inputs; tiles 4 and 5 hold the operands.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
};
// A tile instruction takes much longer than a vector instruction. So a tile loop runs one iteration
// of four tile instructions where a vector loop executes kVectorOpsPerTileRound instructions. The
// callers of BestRate scale by 4 / kVectorOpsPerTileRound.
constexpr int64_t kVectorOpsPerTileRound = 64;
#define FT_TILE_LOOP(name, op)                                                       \
  void name() {                                                                      \
    const TileShapes shapes;                                                         \
    asm volatile("ldtilecfg %0" ::"m"(shapes));                                      \
    for (int64_t i = 0; i < kRounds * kAccumulators / kVectorOpsPerTileRound; ++i) { \
      asm volatile(op " %tmm5, %tmm4, %tmm0\n\t" op " %tmm5, %tmm4, %tmm1\n\t" op    \
                      " %tmm5, %tmm4, %tmm2\n\t" op " %tmm5, %tmm4, %tmm3");         \
    }                                                                                \
    asm volatile("tilerelease");                                                     \
  }
FT_TILE_LOOP(Int8Amx, "tdpbusd")
FT_TILE_LOOP(Bf16Amx, "tdpbf16ps")
#undef FT_TILE_LOOP

bool IsBestIsa(CpuIsa isa) { return AvailableCpuIsas().back() == isa; }

bool HasAvx512Vnni() { return __builtin_cpu_supports("avx512vnni"); }
bool HasAvx512Bf16() { return HasAvx512Vnni() && __builtin_cpu_supports("avx512bf16"); }
bool HasAvx2Fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#endif

void F32Portable() {
  volatile float sink = 0;
  float acc[kAccumulators] = {};
  for (int64_t i = 0; i < kRounds; ++i) {
    for (float& a : acc) a = a * 0.5f + 1.0f;
  }
  for (float a : acc) sink = sink + a;
}

// Loads the first word of every cache line of `bytes` bytes (a multiple of 64 * kStreams) and
// returns the sum. The bytes are split into kStreams contiguous streams, which are read
// alternately, each with a prefetch kPrefetchBytes ahead.
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
  if (IsBestIsa(CpuIsa::kAmx))
    return BestRate(Int8Amx, 4.0 * 16 * 16 * 64 / kVectorOpsPerTileRound);
  if (HasAvx512Vnni()) return BestRate(Int8Avx512, 64);
  if (IsBestIsa(CpuIsa::kAvxVnni)) return BestRate(Int8AvxVnni, 32);
  // Halved: vpmaddubsw does not accumulate, so kernels need at least one more instruction for each
  // (vpaddw), which adds its sums of two products to an accumulator.
  if (HasAvx2Fma()) return BestRate(Int8Avx2, 32) / 2;
#endif
  return F32Peak();
}

double Bf16Peak() {
#if defined(__x86_64__)
  if (IsBestIsa(CpuIsa::kAmx))
    return BestRate(Bf16Amx, 4.0 * 16 * 16 * 32 / kVectorOpsPerTileRound);
  if (HasAvx512Bf16()) return BestRate(Bf16Avx512, 32);
#endif
  return F32Peak();
}

double F32Peak() {
#if defined(__x86_64__)
  if (HasAvx512Vnni()) return BestRate(F32Avx512, 16);
  if (HasAvx2Fma()) return BestRate(F32Avx2, 8);
#endif
  return BestRate(F32Portable, 1);
}

double ThreadL1LoadsPerSecond() {
  constexpr int kWords = 512, kUnrolled = 8;
  constexpr int64_t kRepeats = 40'000;
  alignas(64) const volatile uint64_t words[kWords] = {};
  const Clock::time_point start = Clock::now();
  for (int64_t repeat = 0; repeat < kRepeats; ++repeat) {
    for (const volatile uint64_t* at = words; at < words + kWords; at += kUnrolled) {
      (void)at[0], (void)at[1], (void)at[2], (void)at[3];
      (void)at[4], (void)at[5], (void)at[6], (void)at[7];
    }
  }
  return static_cast<double>(kRepeats) * kWords /
         std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t ReadCacheLines(const std::byte* data, size_t bytes, int streams) {
  return streams == 1 ? ReadStreams<1, 2048>(data, bytes) : ReadStreams<4, 4096>(data, bytes);
}

}  // namespace foretoken
