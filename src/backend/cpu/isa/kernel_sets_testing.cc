#include "backend/cpu/isa/kernel_sets_testing.h"

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/isa/isa.h"

namespace foretoken {

#if defined(__x86_64__)
const Kernels& EmulatedAvxVnniKernels();  // emulated_avxvnni.cc
const Kernels& EmulatedAmxKernels();      // emulated_amx.cc
#endif

namespace testing {

std::vector<KernelSet> TestedSets() {
  std::vector<KernelSet> sets;
  for (const CpuIsa isa : AvailableCpuIsas()) sets.push_back({isa, *KernelsFor(isa)});
#if defined(__x86_64__)
  if (KernelsFor(CpuIsa::kAvx2).ok()) sets.push_back({CpuIsa::kAvxVnni, &EmulatedAvxVnniKernels()});
  if (KernelsFor(CpuIsa::kAvx512).ok()) sets.push_back({CpuIsa::kAmx, &EmulatedAmxKernels()});
#endif
  return sets;
}

std::unique_ptr<Backend> NewBackend(const KernelSet& set, int threads) {
  return NewBackend(set, BestConfig(*set.kernels), threads);
}

std::unique_ptr<Backend> NewBackend(const KernelSet& set, const KernelConfig& config, int threads) {
  auto backend = CpuBackend::Create(*set.kernels, config, threads);
  FT_CHECK(backend.ok());
  return std::move(*backend);
}

}  // namespace testing
}  // namespace foretoken
