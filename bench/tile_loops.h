// Loops over what a product in Q8_0 is made of, everything in a core's first cache. A tile is
// sixteen rows times a panel of sixteen outputs times a block of 32 inputs.
#pragma once

#include <cstdint>
#include <span>

namespace foretoken {

inline constexpr int kTilesAStep = 4;   // on the matrix unit: of four panels
inline constexpr int kTilesAGroup = 8;  // on vectors: of a group of blocks

struct TileLoop {
  const char* name;
  void (*run)(int64_t steps);
  int tiles;  // a step
};

// REQUIRES for running them: KernelsFor(CpuIsa::kAmx) is no error.
std::span<const TileLoop> TileLoops();
// The same for CpuIsa::kAvx512.
std::span<const TileLoop> VectorLoops();

}  // namespace foretoken
