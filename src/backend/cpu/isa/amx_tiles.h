// The tile registers of the matrix unit (AMX), and how our kernels use them.
#pragma once

#include <cstdint>

#include "backend/cpu/isa/vec.h"

namespace foretoken::FT_ISA {

// The operand of ldtilecfg.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

}  // namespace foretoken::FT_ISA

#if defined(FT_EMULATED_TILES)
#include "backend/cpu/isa/emulated_tiles.h"
#else
#include "backend/cpu/isa/tile_instructions.h"
#endif

namespace foretoken::FT_ISA {

// What each tile register holds in products. Int8 and BF16 products share registers 4 and 7.
enum TileRegister : int {
  kSums = 0,  // four registers
  kInt8Rows = 4,
  kInt8Codes = 5,
  kMoreInt8Codes = 7,
  kMoreBf16Rows = 4,
  kBf16Rows = 6,
  kBf16Weights = 7
};

template <int kSum, int kCodes>
FT_INLINE void MultiplyInt8() {
  MultiplySignedUnsigned<kSum, kInt8Rows, kCodes>();
}
template <int kSum, int kRows, int kPairs = kBf16Weights>
FT_INLINE void MultiplyBf16() {
  MultiplyBf16Pairs<kSum, kRows, kPairs>();
}

// Configures the tile registers for products of a left operand [rows][words] and a right operand
// [words][16], in words of four bytes. REQUIRES: `words` is 16 for BF16.
inline void ConfigureTiles(int rows, int words) {
  TileConfig config;
  for (int i = 0; i < 4; ++i) {
    config.rows[kSums + i] = static_cast<uint8_t>(rows);
    config.row_bytes[kSums + i] = 64;
  }
  config.rows[kInt8Rows] = config.rows[kBf16Rows] = static_cast<uint8_t>(rows);
  config.row_bytes[kInt8Rows] = static_cast<uint16_t>(4 * words);
  config.rows[kInt8Codes] = config.rows[kMoreInt8Codes] = static_cast<uint8_t>(words);
  config.row_bytes[kInt8Codes] = config.row_bytes[kMoreInt8Codes] = 64;
  config.row_bytes[kBf16Rows] = 64;
  LoadTileConfig(config);
}

// A compile-time index: tile instructions encode their register numbers.
template <int N>
struct Constant {
  static constexpr int kValue = N;
};
// Calls fn(Constant<0>{}), ..., fn(Constant<P - 1>{}). REQUIRES: P <= 4.
template <int P, typename Fn>
FT_INLINE void EachTile(Fn fn) {
  if constexpr (P > 0) fn(Constant<0>{});
  if constexpr (P > 1) fn(Constant<1>{});
  if constexpr (P > 2) fn(Constant<2>{});
  if constexpr (P > 3) fn(Constant<3>{});
}

}  // namespace foretoken::FT_ISA
