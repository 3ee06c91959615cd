// Compiles the AVX2 products. They have their own file because they take a long time to compile.
#define FT_ISA avx2
#include "backend/cpu/linear/linear_table.h"

namespace foretoken::avx2 {

void FillLinear(Kernels& k) { FillProducts(k); }

}  // namespace foretoken::avx2
