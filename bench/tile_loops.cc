#define FT_ISA tile_loops
#include "tile_loops.h"

#include "backend/cpu/linear/amx_linear.h"

namespace foretoken {
namespace tile_loops {
namespace {

constexpr int kRows = 16, kPanels = kTilesAStep;
constexpr Format kFormat = Format::kQ8_0;

// The data of a step, all zeros.
struct Step {
  alignas(64) std::byte rows[TileBlock<kFormat, kRows>::kBytes] = {};
  alignas(64) std::byte codes[kPanels][512] = {};
  alignas(64) std::byte scales[64] = {};
  alignas(64) int32_t dots[kPanels][kRows][kLanes] = {};
  F sums[1][kRows][kPanels] = {};
  TileWeights<kFormat, kPanels> weights = {};
  BlockAt<kFormat> at[kPanels] = {};

  Step() {
    for (int p = 0; p < kPanels; ++p) {
      weights.codes[p] = codes[p];
      at[p] = {.codes = codes[p], .scales = scales, .d = Zero()};
    }
    ConfigureTiles(kRows, BlockAt<kFormat>::kVectors);
  }
  ~Step() { asm volatile("tilerelease"); }

  FT_INLINE void Multiply() {
    LoadTile<kInt8Rows>(rows, kBlock);
    MultiplyTiles<0, kPanels>(weights.codes);
  }
  FT_INLINE void Store() { StoreTiles<kRows, 0, kPanels>(&dots[0][0][0]); }
  FT_INLINE void Scale() {
    const TileBlock<kFormat, kRows> chunk{Opaque(rows)};
    AddDots<kFormat, kRows, kPanels, 0, kPanels>(weights, 0, chunk, dots, sums[0], [](int) {});
    asm volatile("" ::: "memory");
  }
};

void Products(int64_t steps) {
  Step step;
  for (int64_t i = 0; i < steps; ++i) step.Multiply();
}
void Stores(int64_t steps) {
  Step step;
  for (int64_t i = 0; i < steps; ++i) step.Store();
}
void Scaling(int64_t steps) {
  Step step;
  for (int64_t i = 0; i < steps; ++i) step.Scale();
}
void InTurn(int64_t steps) {
  Step step;
  for (int64_t i = 0; i < steps; ++i) {
    step.Multiply();
    step.Store();
    step.Scale();
  }
}
void InParts(int64_t steps) {
  Step step;
  for (int64_t i = 0; i < steps; ++i) {
    AddTiles<kFormat, kRows, kPanels>(step.at, 0, 0, step.rows, 1, step.sums, {step.codes[0], 0});
    asm volatile("" ::: "memory");
  }
}

constexpr TileLoop kLoops[] = {{"products", &Products, kTilesAStep},
                               {"stores of the sums", &Stores, kTilesAStep},
                               {"scaling", &Scaling, kTilesAStep},
                               {"one after the other", &InTurn, kTilesAStep},
                               {"in two parts, as linear products do", &InParts, kTilesAStep}};

}  // namespace
}  // namespace tile_loops

std::span<const TileLoop> TileLoops() { return tile_loops::kLoops; }

}  // namespace foretoken
