// Lists the instruction sets that this machine lacks, and whether their kernels were tested under
// emulation. `make test` runs it last.
#include <cstdio>
#include <string>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/kernel_sets_testing.h"

int main() {
  using foretoken::CpuIsa;
  const auto sets = foretoken::testing::TestedSets();
  bool all_tested = true;
  for (const CpuIsa isa : foretoken::AllCpuIsas()) {
    if (foretoken::KernelsFor(isa).ok()) continue;
    if (all_tested) std::printf("Instruction sets that this machine lacks:\n");
    all_tested = false;
    bool emulated = false;
    for (const auto& set : sets) emulated |= set.isa == isa;
    std::printf("  %-10s  %s\n", std::string(foretoken::CpuIsaName(isa)).c_str(),
                emulated ? "kernels tested under emulation" : "not tested");
  }
  if (all_tested) std::printf("Every instruction set was tested on this machine.\n");
  return 0;
}
