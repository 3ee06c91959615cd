#include "backend/cpu/isa/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <iterator>
#include <string>

namespace foretoken {
namespace {

bool Always() { return true; }

#if defined(__x86_64__)
bool HasAvx2() {
  __builtin_cpu_init();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // clang 14 has no name for F16C in __builtin_cpu_supports.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// Whether the CPU has dot products of bytes on 256-bit vectors, in the VEX encoding.
bool HasAvxVnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kAvxVnni = 1u << 4;
  return HasAvx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kAvxVnni) != 0;
}

bool HasAvx512Vnni() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
}

bool HasAvx512Bf16() { return HasAvx512Vnni() && __builtin_cpu_supports("avx512bf16"); }

// Whether the CPU has matrix units for int8 and bf16 that this process may use. A process must
// request the permission from the operating system once.
bool HasAmx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!HasAvx512Bf16() || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  if ((edx & kBf16) == 0 || (edx & kTile) == 0 || (edx & kInt8) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

// Whether vdpbf16ps is slower than widening bf16 values to floats. On Sapphire and Emerald Rapids
// one such instruction, with 32 products, takes as long as four float FMAs, with 16 products each;
// all of Intel's CPUs are assumed to be alike. This matters where a virtual machine exposes
// AVX512-BF16 but hides AMX, which is faster than both.
bool Bf16DotIsSlow() {
  __builtin_cpu_init();
  return __builtin_cpu_is("intel") != 0;
}

#define FT_ON_X86(function) (&(function))
#else
#define FT_ON_X86(function) nullptr
#endif

struct InstructionSet {
  CpuIsa isa;
  std::string_view name;  // also the name of its kernels
  // Whether the CPU and the operating system support the set; null on other architectures.
  bool (*is_available)();
  const Kernels& (*kernels)();                  // null if is_available is null
  bool (*is_slower_than_previous)() = nullptr;  // null: false on every CPU
};

// Ordered from the slowest to the fastest, except where is_slower_than_previous returns true.
constexpr InstructionSet kSets[] = {
    {CpuIsa::kPortable, "portable", &Always, &PortableKernels},
    {CpuIsa::kAvx2, "avx2", FT_ON_X86(HasAvx2), FT_ON_X86(Avx2Kernels)},
    {CpuIsa::kAvxVnni, "avxvnni", FT_ON_X86(HasAvxVnni), FT_ON_X86(AvxVnniKernels)},
    {CpuIsa::kAvx512Vnni, "avx512vnni", FT_ON_X86(HasAvx512Vnni), FT_ON_X86(Avx512VnniKernels)},
    {CpuIsa::kAvx512, "avx512", FT_ON_X86(HasAvx512Bf16), FT_ON_X86(Avx512Kernels),
     FT_ON_X86(Bf16DotIsSlow)},
    {CpuIsa::kAmx, "amx", FT_ON_X86(HasAmx), FT_ON_X86(AmxKernels)},
};

// CpuIsa lists kAuto and then these sets, in this order.
consteval bool EverySetIsListed() {
  for (size_t i = 0; i < std::size(kSets); ++i) {
    if (static_cast<size_t>(kSets[i].isa) != i + 1) return false;
  }
  return std::size(kSets) == static_cast<size_t>(CpuIsa::kAmx);  // kAmx is the last
}
static_assert(EverySetIsListed());

// REQUIRES: `isa` is not kAuto.
const InstructionSet& SetOf(CpuIsa isa) { return kSets[static_cast<size_t>(isa) - 1]; }

bool IsAvailable(const InstructionSet& set) {
  return set.is_available != nullptr && set.is_available();
}

}  // namespace

const KernelConfig& BestConfig(const Kernels& kernels) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("amd") != 0) return kernels.on_amd;
#endif
  return kernels.elsewhere;
}

std::vector<CpuIsa> AllCpuIsas() {
  std::vector<CpuIsa> isas;
  for (const InstructionSet& set : kSets) isas.push_back(set.isa);
  return isas;
}

std::vector<CpuIsa> AvailableCpuIsas() {
  std::vector<CpuIsa> isas;
  for (const InstructionSet& set : kSets) {
    if (!IsAvailable(set)) continue;
    const bool is_slower = set.is_slower_than_previous != nullptr && set.is_slower_than_previous();
    isas.insert(is_slower ? isas.end() - 1 : isas.end(), set.isa);
  }
  return isas;
}

std::string_view CpuIsaName(CpuIsa isa) { return isa == CpuIsa::kAuto ? "auto" : SetOf(isa).name; }

std::string CpuBackendName(CpuIsa isa) {
  return isa == CpuIsa::kAuto ? "cpu" : "cpu:" + std::string(CpuIsaName(isa));
}

Result<const Kernels*> KernelsFor(CpuIsa isa) {
  const InstructionSet& set = SetOf(isa == CpuIsa::kAuto ? AvailableCpuIsas().back() : isa);
  if (IsAvailable(set)) return &set.kernels();
  return Error{"the instruction set '" + std::string(set.name) +
               "' is not available on this machine"};
}

}  // namespace foretoken
