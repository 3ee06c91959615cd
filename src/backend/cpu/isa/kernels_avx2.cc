// AVX2 with FMA and F16C.
#define FT_ISA avx2
#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/rows/row_kernels.h"

namespace foretoken {
namespace avx2 {

void FillLinear(Kernels& k);  // linear_avx2.cc

}  // namespace avx2

const Kernels& Avx2Kernels() {
  static const Kernels kernels = [] {
    Kernels k{};
    k.name = "avx2";
    k.crossover_rows = 4;
    avx2::FillLinear(k);
    avx2::FillRows(k);
    avx2::FillAttention(k);
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
