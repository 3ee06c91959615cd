// Micro-benchmarks of the parts of products with many rows, with AMX and with VNNI: products,
// stores and scaling, each alone and all together. Seconds are per tile: sixteen rows times sixteen
// outputs times a block of 32 inputs.
#include <benchmark/benchmark.h>

#include <string>

#include "backend/cpu/isa/isa.h"
#include "tile_loops.h"

namespace {

void Register(foretoken::CpuIsa isa, const char* name, std::span<const foretoken::TileLoop> loops) {
  constexpr int64_t kSteps = 10'000;
  if (!foretoken::KernelsFor(isa).ok()) return;
  for (const foretoken::TileLoop& loop : loops) {
    const std::string title = std::string(name) + ", " + loop.name;
    benchmark::RegisterBenchmark(title.c_str(), [&loop](benchmark::State& state) {
      for (auto _ : state) loop.run(kSteps);
      state.counters["s a tile"] = benchmark::Counter(
          static_cast<double>(kSteps * loop.tiles),
          benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  Register(foretoken::CpuIsa::kAmx, "matrix unit", foretoken::TileLoops());
  Register(foretoken::CpuIsa::kAvx512Vnni, "vectors", foretoken::VectorLoops());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
