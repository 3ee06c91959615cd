#define FT_ISA amx
#include "backend/cpu/amx_kernels.h"

namespace foretoken {

const Kernels& AmxKernels() {
  static const Kernels kernels = [] {
    Kernels k = Avx512Kernels();
    k.name = "amx";
    amx::FillAmx(k);
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
