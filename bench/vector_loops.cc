#define FT_ISA vector_loops
#include "backend/cpu/linear/linear_kernels.h"
#include "tile_loops.h"

namespace foretoken {
namespace vector_loops {
namespace {

constexpr int kTileRows = 16;
constexpr int kRows = 8, kChunks = kTileRows / kRows;  // in Products and Scaling
constexpr Format kFormat = Format::kQ8_0;
static_assert(kGroupBlocks == kTilesAGroup);

// The rows of a tile and a panel's group of blocks, all zeros.
struct Group {
  alignas(64) std::byte rows[kGroupBlocks][kChunks][TileBlock<kFormat, kRows>::kBytes] = {};
  alignas(64) std::byte panel[kGroupBlocks * (512 + 32)] = {};
};

// A panel of 2048 inputs (as many as in the 1.1 B shape), its tile and their sums, all zeros. R:
// rows of a chunk.
constexpr int kGroups = 8;
template <int R>
struct Panel {
  static constexpr int kChunks = kTileRows / R;
  alignas(64) std::byte tile[kGroups * kGroupBlocks * kChunks * TileBlock<kFormat, R>::kBytes] = {};
  alignas(64) std::byte panel[kGroups * kGroupBlocks * (512 + 32)] = {};
  float out[kTileRows][kPanel] = {};

  LinearCall Call() {
    return {.panels = panel,
            .layout = {.code_bytes = 512, .scale_bytes = 32, .panel_bytes = sizeof(panel)},
            .cols = kGroups * kSuper,
            .outputs = kPanel,
            .panel_end = 1,
            .tile = tile,
            .chunks = kChunks,
            .rows = kTileRows,
            .out = out[0],
            .out_stride = kPanel,
            .streams = 1};
  }
};

// Makes the compiler compute `sums` and keep them in registers.
FT_INLINE void Use(I (&sums)[kRows]) {
  FT_UNROLL(16)
  for (I& sum : sums) asm volatile("" : "+v"(sum.v[0]));
}
FT_INLINE void Use(F (&sums)[kRows]) {
  FT_UNROLL(16)
  for (F& sum : sums) asm volatile("" : "+v"(sum.v[0]));
}

void Products(int64_t steps) {
  const Group group;
  for (int64_t i = 0; i < steps * kChunks; ++i) {
    for (const auto& block : group.rows) {
      const TileBlock<kFormat, kRows> tile{Opaque(block[0])};
      I dot[kRows] = {};
      FT_UNROLL(8)
      for (int g = 0; g < BlockAt<kFormat>::kVectors; ++g) {
        const I w = Codes<kFormat>::Vector(group.panel, group.panel, g);
        FT_UNROLL(16)
        for (int r = 0; r < kRows; ++r) dot[r] = Dot4(dot[r], w, tile.Four(r, g));
      }
      Use(dot);
    }
  }
}
void Scaling(int64_t steps) {
  const Group group;
  I dot[kRows] = {};
  F acc[kRows] = {};
  for (int64_t i = 0; i < steps * kChunks; ++i) {
    for (const auto& block : group.rows) {
      const TileBlock<kFormat, kRows> tile{Opaque(block[0])};
      const F scale = Codes<kFormat>::Scale(Zero(), group.panel, 0, 0);
      Use(dot);
      FT_UNROLL(16)
      for (int r = 0; r < kRows; ++r) acc[r] = Fma(Unbased(dot[r], tile, r), scale, acc[r]);
      Use(acc);
    }
  }
}
template <int R>
void Together(int64_t steps) {
  Panel<R> panel;
  const LinearCall call = panel.Call();
  for (int64_t i = 0; i < steps; ++i) LinearChunks<kFormat, R>(call, 0);
}

constexpr TileLoop kLoops[] = {
    {"products", &Products, kTilesAGroup},
    {"scaling", &Scaling, kTilesAGroup},
    {"as linear products do, eight rows a chunk", &Together<8>, kGroups* kTilesAGroup},
    {"as linear products do, sixteen rows a chunk", &Together<16>, kGroups* kTilesAGroup}};

}  // namespace
}  // namespace vector_loops

std::span<const TileLoop> VectorLoops() { return vector_loops::kLoops; }

}  // namespace foretoken
