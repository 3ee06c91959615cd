// The sets of kernels that tests run on: those of this machine and, where its instructions allow
// it, emulated ones, so that kernels for other CPUs are tested here, too.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_options.h"
#include "backend/cpu/kernels.h"

namespace foretoken::testing {

struct KernelSet {
  CpuIsa isa;  // whose kernels these are, emulated or not
  const Kernels* kernels;

  std::string_view name() const { return kernels->name; }
  bool IsEmulated() const { return name() != CpuIsaName(isa); }
};

std::vector<KernelSet> TestedSets();

// Makes a backend in the configuration that is fastest on this CPU, or in `config`. REQUIRES: the
// set supports `config`.
std::unique_ptr<Backend> NewBackend(const KernelSet& set, int threads);
std::unique_ptr<Backend> NewBackend(const KernelSet& set, const KernelConfig& config, int threads);

}  // namespace foretoken::testing
