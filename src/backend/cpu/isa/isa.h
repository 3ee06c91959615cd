// The kernels that this machine can run.
#pragma once

#include "backend/cpu/cpu_options.h"
#include "backend/cpu/kernels.h"

namespace foretoken {

// The kernels of `isa`; kAuto: the fastest that this machine has. Errors: the instruction set is
// not available on this machine.
Result<const Kernels*> KernelsFor(CpuIsa isa);

// The configuration of `kernels` that is fastest on this processor.
const KernelConfig& BestConfig(const Kernels& kernels);

}  // namespace foretoken
