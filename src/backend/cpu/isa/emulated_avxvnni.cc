// The kernels of kernels_avxvnni.cc on an emulated instruction. For tests, never shipped.
#define FT_EMULATED_VNNI
#define FT_ISA emulated_avxvnni
#include "backend/cpu/linear/linear_kernels.h"

namespace foretoken {

const Kernels& EmulatedAvxVnniKernels() {
  static const Kernels kernels = [] {
    Kernels k = Avx2Kernels();
    k.name = "emulated_avxvnni";
    emulated_avxvnni::FillBlocks(k);
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
