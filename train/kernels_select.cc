#include "kernels.h"

namespace foretoken::train {

extern const KernelSet kKernelsBase;
#if defined(__x86_64__)
extern const KernelSet kKernelsAvx2;
extern const KernelSet kKernelsAvx512;

namespace {

bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace
#endif

const KernelSet& BestKernels() {
  static const KernelSet& best = []() -> const KernelSet& {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (HasAvx512()) return kKernelsAvx512;
    if (HasAvx2()) return kKernelsAvx2;
#endif
    return kKernelsBase;
  }();
  return best;
}

}  // namespace foretoken::train
