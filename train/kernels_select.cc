#include "draft_kernels.h"
#include "kernels.h"

namespace foretoken::train {

extern const KernelSet kKernelsBase;
extern const DraftKernelSet kDraftKernelsBase;
#if defined(__x86_64__)
extern const KernelSet kKernelsAvx2, kKernelsAvx512;
extern const DraftKernelSet kDraftKernelsAvx2, kDraftKernelsAvx512;
#endif

namespace {

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

template <typename Set>
const Set& Choose(const Set& base, const Set& avx2, const Set& avx512) {
  __builtin_cpu_init();
  return HasAvx512() ? avx512 : HasAvx2() ? avx2 : base;
}
#endif

}  // namespace

const KernelSet& BestKernels() {
#if defined(__x86_64__)
  static const KernelSet& best = Choose(kKernelsBase, kKernelsAvx2, kKernelsAvx512);
  return best;
#else
  return kKernelsBase;
#endif
}

const DraftKernelSet& BestDraftKernels() {
#if defined(__x86_64__)
  static const DraftKernelSet& best =
      Choose(kDraftKernelsBase, kDraftKernelsAvx2, kDraftKernelsAvx512);
  return best;
#else
  return kDraftKernelsBase;
#endif
}

}  // namespace foretoken::train
