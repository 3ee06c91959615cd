// Compiles the AVX-512 products. They have their own file because they take a long time to compile.
#define FT_ISA avx512
#include "backend/cpu/linear/linear_table.h"

namespace foretoken::avx512 {

void FillLinear(Kernels& k) { FillProducts(k); }

}  // namespace foretoken::avx512
