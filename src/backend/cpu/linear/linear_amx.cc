// Compiles the AMX products. They have their own file because they take a long time to compile.
#define FT_ISA amx
#include "backend/cpu/linear/amx_linear.h"
