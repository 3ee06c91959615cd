// Creates the CPU backend for a given instruction set, for code that deals with CPUs in particular.
// All other code creates backends by name (NewBackend).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace foretoken {

// The instruction set of the CPU backend. kAuto picks the fastest that this machine has. kAvxVnni
// is AVX2 with dot products of bytes. kAvx512Vnni is AVX-512 with dot products of bytes; kAvx512
// adds dot products of bf16, and kAmx adds the matrix unit to those.
enum class CpuIsa { kAuto, kPortable, kAvx2, kAvxVnni, kAvx512Vnni, kAvx512, kAmx };
struct CpuOptions {
  int threads = 0;  // 0 = one per core that this process may use
  CpuIsa isa = CpuIsa::kAuto;
};
// Errors: this machine lacks the instruction set; the system refuses to start that many threads.
Result<std::unique_ptr<Backend>> NewCpuBackend(const CpuOptions& options = {});
// Every instruction set that has kernels, whether or not this machine has it; without kAuto.
std::vector<CpuIsa> AllCpuIsas();
// The instruction sets of this machine. The portable one is first; the last is the fastest, which
// kAuto picks.
std::vector<CpuIsa> AvailableCpuIsas();
std::string_view CpuIsaName(CpuIsa isa);
// The name by which NewBackend makes a backend for `isa`: "cpu:avx2", or "cpu" for kAuto.
std::string CpuBackendName(CpuIsa isa);

}  // namespace foretoken
