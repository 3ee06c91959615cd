// The AVX-512 kernels, with AMX for products of quantised and BF16 weights, and for attention over
// caches whose keys and values have one type other than F32.
#define FT_ISA amx
#include "backend/cpu/attention/amx_attention.h"

namespace foretoken {
namespace amx {

void FillTileLinear(Kernels& k);  // linear_amx.cc

}  // namespace amx

const Kernels& AmxKernels() {
  static const Kernels kernels = [] {
    Kernels k = Avx512Kernels();
    k.name = "amx";
    k.crossover_rows = 21;
    amx::FillTileLinear(k);
    amx::FillTileAttention(k);
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
