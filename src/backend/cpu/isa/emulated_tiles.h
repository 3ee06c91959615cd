// The matrix unit (AMX) in software, for tests: the functions of tile_instructions.h on registers
// in memory, one set for each thread. They give the bits that Intel's manual specifies (Instruction
// Set Reference, TDPBSUD, TDPBF16PS). Only the payload of a NaN may differ. They trap where the CPU
// would fault: at an invalid configuration, a register that is not configured, or operands whose
// shapes do not match. Needs AVX-512 with VNNI.
#pragma once

#include "backend/cpu/isa/amx_tiles.h"

namespace foretoken::FT_ISA {

struct EmulatedTile {
  int rows = 0, row_bytes = 0;  // 0: not configured
  alignas(64) std::byte data[16][64] = {};
};
inline constinit thread_local EmulatedTile emulated_tiles[8];

// The registers of a product: kSum [m][n] += kA [m][k] kB [k][n], over k words of four bytes.
template <int kSum, int kA, int kB>
struct TileProduct {
  static_assert(kSum != kA && kSum != kB && kA != kB);

  TileProduct() {
    const bool match = sum.rows == a.rows && sum.row_bytes == b.row_bytes &&
                       a.row_bytes == 4 * b.rows && sum.rows > 0 && a.row_bytes > 0 &&
                       sum.row_bytes > 0;
    if (!match) __builtin_trap();
  }

  EmulatedTile& sum = emulated_tiles[kSum];
  const EmulatedTile& a = emulated_tiles[kA];
  const EmulatedTile& b = emulated_tiles[kB];
};

// Treats denormals as zeros during its lifetime, as the matrix unit does; rounding is to nearest
// even. The memory clobbers keep the arithmetic from moving out of this scope.
class DenormalsAreZeros {
 public:
  DenormalsAreZeros() {
    constexpr unsigned kMasked = 0x1f80, kDaz = 0x0040, kFtz = 0x8000;
    const unsigned control = kMasked | kDaz | kFtz;
    asm volatile("stmxcsr %0" : "=m"(before_));
    asm volatile("ldmxcsr %0" ::"m"(control) : "memory");
  }
  ~DenormalsAreZeros() { asm volatile("ldmxcsr %0" ::"m"(before_) : "memory"); }
  DenormalsAreZeros(const DenormalsAreZeros&) = delete;
  DenormalsAreZeros& operator=(const DenormalsAreZeros&) = delete;

 private:
  unsigned before_;
};

inline void ReleaseTiles() {
  for (EmulatedTile& tile : emulated_tiles) {
    tile.rows = tile.row_bytes = 0;
    __builtin_memset(tile.data, 0, sizeof(tile.data));
  }
}

inline void LoadTileConfig(const TileConfig& config) {
  if (config.palette != 1 || config.start_row != 0) __builtin_trap();
  ReleaseTiles();
  for (int i = 0; i < 16; ++i) {
    const int rows = config.rows[i], row_bytes = config.row_bytes[i];
    const bool is_unused = rows == 0 && row_bytes == 0;
    if (!is_unused && (i >= 8 || rows == 0 || row_bytes == 0 || rows > 16 || row_bytes > 64)) {
      __builtin_trap();
    }
    if (is_unused) continue;
    emulated_tiles[i].rows = rows;
    emulated_tiles[i].row_bytes = row_bytes;
  }
}

template <int kTile>
void ZeroTile() {
  EmulatedTile& tile = emulated_tiles[kTile];
  if (tile.rows == 0) __builtin_trap();
  __builtin_memset(tile.data, 0, sizeof(tile.data));
}

template <int kTile>
void LoadTile(const void* from, int64_t stride) {
  ZeroTile<kTile>();
  EmulatedTile& tile = emulated_tiles[kTile];
  const auto* at = static_cast<const std::byte*>(from);
  for (int r = 0; r < tile.rows; ++r, at += stride) {
    __builtin_memcpy(tile.data[r], at, static_cast<size_t>(tile.row_bytes));
  }
}

template <int kTile>
void StoreTile(void* to, int64_t stride) {
  const EmulatedTile& tile = emulated_tiles[kTile];
  if (tile.rows == 0) __builtin_trap();
  auto* at = static_cast<std::byte*>(to);
  for (int r = 0; r < tile.rows; ++r, at += stride) {
    __builtin_memcpy(at, tile.data[r], static_cast<size_t>(tile.row_bytes));
  }
}

// A vector is a row of kSum. Columns beyond row_bytes are zero in kCodes, and so also in kSum.
template <int kSum, int kRows, int kCodes>
void MultiplySignedUnsigned() {
  const TileProduct<kSum, kRows, kCodes> tiles;
  for (int m = 0; m < tiles.sum.rows; ++m) {
    __m512i sum = _mm512_load_si512(tiles.sum.data[m]);
    for (int k = 0; k < tiles.b.rows; ++k) {
      int32_t four;
      __builtin_memcpy(&four, tiles.a.data[m] + 4 * k, sizeof(four));
      sum = _mm512_dpbusd_epi32(sum, _mm512_load_si512(tiles.b.data[k]), _mm512_set1_epi32(four));
    }
    _mm512_store_si512(tiles.sum.data[m], sum);
  }
}

// The first elements of pairs are summed over k, and so are the second ones; then both sums are
// added.
template <int kSum, int kRows, int kPairs>
void MultiplyBf16Pairs() {
  const TileProduct<kSum, kRows, kPairs> tiles;
  const DenormalsAreZeros mode;
  const auto first = [](__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  };
  const auto second = [](__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-65536)));
  };
  for (int m = 0; m < tiles.sum.rows; ++m) {
    __m512 firsts = _mm512_setzero_ps(), seconds = _mm512_setzero_ps();
    for (int k = 0; k < tiles.b.rows; ++k) {
      int32_t pair;
      __builtin_memcpy(&pair, tiles.a.data[m] + 4 * k, sizeof(pair));
      const __m512i a = _mm512_set1_epi32(pair), b = _mm512_load_si512(tiles.b.data[k]);
      firsts = _mm512_fmadd_ps(first(a), first(b), firsts);
      seconds = _mm512_fmadd_ps(second(a), second(b), seconds);
    }
    const __m512 sum = _mm512_load_ps(tiles.sum.data[m]);
    _mm512_store_ps(tiles.sum.data[m], _mm512_add_ps(sum, _mm512_add_ps(firsts, seconds)));
  }
}

}  // namespace foretoken::FT_ISA
