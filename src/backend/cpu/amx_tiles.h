// The instructions of the matrix unit (AMX).
#pragma once

#include <cstdint>

#include "backend/cpu/vec.h"

namespace foretoken::FT_ISA {

// What each tile register holds.
enum TileRegister : int {
  kSums = 0,  // four
  kInt8Rows = 4,
  kInt8Codes = 5,
  kMoreInt8Codes = 7,
  kMoreBf16Rows = 4,
  kBf16Rows = 6,
  kBf16Weights = 7
};

// By name, because GCC's intrinsics take no computed register numbers.
template <int kTile>
FT_INLINE void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kTile>
FT_INLINE void LoadTile(const void* from, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
FT_INLINE void StoreTile(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
}
template <int kSum, int kCodes>
FT_INLINE void MultiplyInt8() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kInt8Rows), "i"(kCodes));
}
template <int kSum, int kRows, int kPairs = kBf16Weights>
FT_INLINE void MultiplyBf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kRows), "i"(kPairs));
}

// Shapes for `rows` rows and `groups` groups of four bytes of them; BF16 has sixteen.
inline void ConfigureTiles(int rows, int groups) {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  } config;
  for (int i = 0; i < 4; ++i) {
    config.rows[kSums + i] = static_cast<uint8_t>(rows);
    config.row_bytes[kSums + i] = 64;
  }
  config.rows[kInt8Rows] = config.rows[kBf16Rows] = static_cast<uint8_t>(rows);
  config.row_bytes[kInt8Rows] = static_cast<uint16_t>(4 * groups);
  config.rows[kInt8Codes] = config.rows[kMoreInt8Codes] = static_cast<uint8_t>(groups);
  config.row_bytes[kInt8Codes] = config.row_bytes[kMoreInt8Codes] = 64;
  config.row_bytes[kBf16Rows] = 64;
  asm volatile("ldtilecfg %0" ::"m"(config));
}

// Calls fn(constant 0), ... fn(constant P - 1): tile registers are part of the instruction.
template <int N>
struct Constant {
  static constexpr int kValue = N;
};
template <int P, typename Fn>
FT_INLINE void EachTile(Fn fn) {
  if constexpr (P > 0) fn(Constant<0>{});
  if constexpr (P > 1) fn(Constant<1>{});
  if constexpr (P > 2) fn(Constant<2>{});
  if constexpr (P > 3) fn(Constant<3>{});
}

}  // namespace foretoken::FT_ISA
