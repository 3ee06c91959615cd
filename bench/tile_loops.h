// Loops over what a product on the matrix unit is made of, everything in a core's first cache:
// sixteen rows, four panels of sixteen outputs, a block of 32 inputs in Q8_0 a step.
#pragma once

#include <cstdint>
#include <span>

namespace foretoken {

inline constexpr int kTilesAStep = 4;

struct TileLoop {
  const char* name;
  void (*run)(int64_t steps);
};

// REQUIRES for running them: KernelsFor(CpuIsa::kAmx) is no error.
std::span<const TileLoop> TileLoops();

}  // namespace foretoken
