// Kernels for any CPU.
#define FT_ISA portable
#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/rows/row_kernels.h"

namespace foretoken {
namespace portable {

void FillLinear(Kernels& k);  // linear_portable.cc

}  // namespace portable

const Kernels& PortableKernels() {
  static const Kernels kernels = [] {
    Kernels k{};
    k.name = "portable";
    k.crossover_rows = 0.6;  // multiplying one row takes longer than reading the weights
    portable::FillLinear(k);
    portable::FillRows(k);
    portable::FillAttention(k);
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
