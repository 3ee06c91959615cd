#define FT_ISA amx
#include "backend/cpu/linear/amx_linear.h"
