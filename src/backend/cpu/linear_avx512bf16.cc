// AVX-512 with products of bf16 pairs in one instruction.
#define FT_ISA avx512bf16
#include "backend/cpu/linear_table.h"

namespace foretoken {

const Kernels& Avx512Kernels() {
  static const Kernels kernels = [] {
    Kernels k = Avx512VnniKernels();
    k.name = "avx512";
    avx512bf16::FillBf16(k);
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
