#include "backend/cpu/isa/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <string>
#include <utility>

namespace foretoken {
namespace {

#if defined(__x86_64__)
// clang 14 has no name for this one in __builtin_cpu_supports.
bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

#if defined(__x86_64__)
// Dot products of bytes for 256-bit vectors, in the encoding of AVX.
bool HasAvxVnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kAvxVnni = 1u << 4;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kAvxVnni) != 0;
}

// Whether the processor has matrix units for int8 and bf16, and the kernel lets this process use
// them, which it must be asked once.
bool HasAmx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  if ((edx & kBf16) == 0 || (edx & kTile) == 0 || (edx & kInt8) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}
#endif

// Whether products of bf16 pairs beat widening and float products. On Intel's cores (Sapphire and
// Emerald Rapids) the instruction for 32 products takes as long as four of float products do, of 16
// each; a virtual machine may show it and hide the matrix unit that takes its place.
bool PairsAreFast() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") == 0;
#else
  return true;
#endif
}

bool Has(CpuIsa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c();
  if (isa == CpuIsa::kAvx2) return avx2;
  if (isa == CpuIsa::kAvxVnni) return avx2 && HasAvxVnni();
  if (isa == CpuIsa::kAmx) return Has(CpuIsa::kAvx512) && HasAmx();
  if (isa == CpuIsa::kAvx512) {
    return Has(CpuIsa::kAvx512Vnni) && __builtin_cpu_supports("avx512bf16");
  }
  if (isa == CpuIsa::kAvx512Vnni) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
  }
#endif
  return isa == CpuIsa::kPortable;
}

const Kernels& Find(CpuIsa isa) {
#if defined(__x86_64__)
  if (isa == CpuIsa::kAmx) return AmxKernels();
  if (isa == CpuIsa::kAvx512) return Avx512Kernels();
  if (isa == CpuIsa::kAvx512Vnni) return Avx512VnniKernels();
  if (isa == CpuIsa::kAvxVnni) return AvxVnniKernels();
  if (isa == CpuIsa::kAvx2) return Avx2Kernels();
#endif
  FT_CHECK(isa == CpuIsa::kPortable);
  return PortableKernels();
}

}  // namespace

const KernelConfig& BestConfig(const Kernels& kernels) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("amd") != 0) return kernels.on_amd;
#endif
  return kernels.elsewhere;
}

std::vector<CpuIsa> AvailableCpuIsas() {
  std::vector<CpuIsa> isas;
  for (const CpuIsa isa : kCpuIsas) {
    if (Has(isa)) isas.push_back(isa);
  }
  const auto pairs = std::find(isas.begin(), isas.end(), CpuIsa::kAvx512);
  if (pairs != isas.end() && !PairsAreFast()) std::swap(*pairs, *(pairs - 1));
  return isas;
}

std::string_view CpuIsaName(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kAuto:
      return "auto";
    case CpuIsa::kPortable:
      return "portable";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvxVnni:
      return "avxvnni";
    case CpuIsa::kAvx512Vnni:
      return "avx512vnni";
    case CpuIsa::kAvx512:
      return "avx512";
    case CpuIsa::kAmx:
      return "amx";
  }
  return "?";
}

Result<const Kernels*> KernelsFor(CpuIsa isa) {
  if (isa == CpuIsa::kAuto) return &Find(AvailableCpuIsas().back());
  if (!Has(isa)) {
    return Error{"this machine does not have the instruction set '" + std::string(CpuIsaName(isa)) +
                 "'"};
  }
  return &Find(isa);
}

}  // namespace foretoken
