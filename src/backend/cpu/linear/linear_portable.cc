// Compiles the portable products. They have their own file because they take a long time to
// compile.
#define FT_ISA portable
#include "backend/cpu/linear/linear_table.h"

namespace foretoken::portable {

void FillLinear(Kernels& k) { FillProducts(k); }

}  // namespace foretoken::portable
