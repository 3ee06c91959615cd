#define FT_ISA avx512
#include "backend/cpu/linear_table.h"
