// Selects the kernels that BestKernels and BestDraftKernels return.
#include <atomic>

#include "draft_kernels.h"
#include "train_kernel_sets_testing.h"
#include "train_kernels.h"

namespace foretoken::train {

extern const KernelSet kKernelsBase;
extern const DraftKernelSet kDraftKernelsBase;
#if defined(__x86_64__)
extern const KernelSet kKernelsAvx2, kKernelsAvx512;
extern const DraftKernelSet kDraftKernelsAvx2, kDraftKernelsAvx512;
#endif

namespace {

struct Sets {
  const KernelSet* kernels;
  const DraftKernelSet* draft_kernels;
};

// In ascending order: a CPU that supports a set supports all sets before it.
constexpr Sets kSets[] = {{&kKernelsBase, &kDraftKernelsBase},
#if defined(__x86_64__)
                          {&kKernelsAvx2, &kDraftKernelsAvx2},
                          {&kKernelsAvx512, &kDraftKernelsAvx512}
#endif
};

#if defined(__x86_64__)
bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

// Index in kSets: the best set that this CPU supports, unless a test has called UseKernelSet.
std::atomic<int>& Chosen() {
  static std::atomic<int> index = AvailableKernelSets() - 1;
  return index;
}

const Sets& ChosenSets() { return kSets[Chosen().load(std::memory_order_relaxed)]; }

}  // namespace

int AvailableKernelSets() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return HasAvx512() ? 3 : HasAvx2() ? 2 : 1;
#else
  return 1;
#endif
}

void UseKernelSet(int index) { Chosen() = index; }

const KernelSet& BestKernels() { return *ChosenSets().kernels; }

const DraftKernelSet& BestDraftKernels() { return *ChosenSets().draft_kernels; }

}  // namespace foretoken::train
