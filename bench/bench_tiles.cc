// What bounds products on the matrix unit (AMX): each kind of instruction alone, and together.
// Nanoseconds are of a tile: sixteen rows times sixteen outputs times a block of 32 inputs.
#include <benchmark/benchmark.h>

#include "backend/cpu/isa.h"
#include "tile_loops.h"

int main(int argc, char** argv) {
  constexpr int64_t kSteps = 10'000;
  if (foretoken::KernelsFor(foretoken::CpuIsa::kAmx).ok()) {
    for (const foretoken::TileLoop& loop : foretoken::TileLoops()) {
      benchmark::RegisterBenchmark(loop.name, [&loop](benchmark::State& state) {
        for (auto _ : state) loop.run(kSteps);
        state.counters["s a tile"] = benchmark::Counter(
            kSteps * foretoken::kTilesAStep,
            benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
      });
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
