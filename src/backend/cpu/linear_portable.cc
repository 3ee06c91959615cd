#define FT_ISA portable
#include "backend/cpu/linear_kernels.h"
