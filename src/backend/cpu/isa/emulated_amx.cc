// The kernels of kernels_amx.cc and linear_amx.cc on emulated tiles. For tests, never shipped.
#define FT_EMULATED_TILES
#define FT_ISA emulated_amx
#include "backend/cpu/attention/amx_attention.h"
#include "backend/cpu/linear/amx_linear.h"

namespace foretoken {

// Called by emulated_tiles_test.cc, which describes it.
void EmulatedPairProduct(const uint16_t* rows, const uint16_t* pairs, float* sums);

const Kernels& EmulatedAmxKernels() {
  static const Kernels kernels = [] {
    Kernels k = Avx512Kernels();
    k.name = "emulated_amx";
    emulated_amx::FillTileLinear(k);
    emulated_amx::FillTileAttention(k);
    return k;
  }();
  return kernels;
}

void EmulatedPairProduct(const uint16_t* rows, const uint16_t* pairs, float* sums) {
  emulated_amx::ConfigureTiles(/*rows=*/16, /*words=*/16);
  emulated_amx::LoadTile<emulated_amx::kSums>(sums, 64);
  emulated_amx::LoadTile<emulated_amx::kBf16Rows>(rows, 64);
  emulated_amx::LoadTile<emulated_amx::kBf16Weights>(pairs, 64);
  emulated_amx::MultiplyBf16<emulated_amx::kSums, emulated_amx::kBf16Rows>();
  emulated_amx::StoreTile<emulated_amx::kSums>(sums, 64);
  emulated_amx::ReleaseTiles();
}

}  // namespace foretoken
