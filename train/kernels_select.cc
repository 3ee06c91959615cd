#include "kernels.h"

namespace foretoken::train {

extern const KernelSet kKernelsBase;
#if defined(__x86_64__)
extern const KernelSet kKernelsAvx2;
extern const KernelSet kKernelsAvx512;
#endif

const KernelSet& BestKernels() {
  static const KernelSet& best = []() -> const KernelSet& {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return kKernelsAvx512;
    if (__builtin_cpu_supports("x86-64-v3")) return kKernelsAvx2;
#endif
    return kKernelsBase;
  }();
  return best;
}

}  // namespace foretoken::train
