#define FT_ISA portable
#include "backend/cpu/linear_table.h"
