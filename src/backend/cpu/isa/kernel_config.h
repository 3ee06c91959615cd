// The configurations that a set of kernels supports.
#pragma once

#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/result.h"

namespace foretoken {

// Checks that `kernels` support `config`. Errors: a field whose value `kernels` do not support;
// chunk sizes that make up no tile for some number of rows up to kMaxTileRows.
Status CheckConfig(const Kernels& kernels, const KernelConfig& config);

// Every configuration that CheckConfig accepts.
std::vector<KernelConfig> AdmittedConfigs(const Kernels& kernels);

// For messages: "chunks of 8 to 12 rows, streams 1, interleaved panels 4, prefetches near".
std::string Describe(const KernelConfig& config);

}  // namespace foretoken
