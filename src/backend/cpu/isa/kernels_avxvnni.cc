// AVX-VNNI: AVX2 with dot products of bytes in one instruction, for processors without AVX-512.
#define FT_ISA avxvnni
#include "backend/cpu/linear/linear_kernels.h"

namespace foretoken {

const Kernels& AvxVnniKernels() {
  static const Kernels kernels = [] {
    Kernels k = Avx2Kernels();
    k.name = "avxvnni";
    k.crossover_rows = 7;
    avxvnni::FillBlocks(k);
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
