#define FT_ISA avx2
#include "backend/cpu/linear_table.h"
