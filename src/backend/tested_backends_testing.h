// The backends that tests of ops run on: those of this machine by name, the strict one, and CPU
// backends whose kernels run on emulated instructions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/isa/kernel_sets_testing.h"

namespace foretoken::testing {

struct TestedBackend {
  std::string name;                   // for NewTestBackend; the set's name if emulated
  std::optional<KernelSet> emulated;  // the kernels, if emulated

  std::unique_ptr<Backend> New(int threads) const;
  // The name as a test parameter: letters, digits and underscores.
  std::string ParameterName() const;
};

// Every device in every variant, then the strict CPU backend and the emulated ones. "cpu" itself is
// left out, because it is the same as one of "cpu:portable", "cpu:avx2", ...
std::vector<TestedBackend> TestedBackends();

}  // namespace foretoken::testing
