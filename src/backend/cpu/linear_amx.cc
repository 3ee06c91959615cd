#define FT_ISA amx
#include "backend/cpu/amx_linear.h"
