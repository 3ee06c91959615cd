// Which kernels this machine can run.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kernels.h"

namespace foretoken {

// kAuto gives the best. Errors: an instruction set this machine lacks.
Result<const Kernels*> KernelsFor(CpuIsa isa);

// Whether these are AMD's cores, which read memory in their own way (Zen 4).
bool OnAmd();

}  // namespace foretoken
