// A separate file, because it takes long to compile.
#define FT_ISA amx
#include "backend/cpu/linear/amx_linear.h"
