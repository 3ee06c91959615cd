// Loops over the parts of a Q8_0 matrix product, with all data in the L1 cache. A tile is sixteen
// rows times a panel of sixteen outputs times a block of 32 inputs.
#pragma once

#include <cstdint>
#include <span>

namespace foretoken {

inline constexpr int kTilesAStep = 4;   // with AMX: tiles of four panels
inline constexpr int kTilesAGroup = 8;  // with vectors: tiles of a group of blocks

struct TileLoop {
  const char* name;
  void (*run)(int64_t steps);
  int tiles;  // per step
};

// The loops with AMX. REQUIRES, to run them: KernelsFor(CpuIsa::kAmx).ok().
std::span<const TileLoop> TileLoops();
// The loops with AVX-512 vectors. REQUIRES, to run them: KernelsFor(CpuIsa::kAvx512Vnni).ok().
std::span<const TileLoop> VectorLoops();

}  // namespace foretoken
