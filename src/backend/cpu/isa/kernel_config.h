// The configurations that a set of kernels supports.
#pragma once

#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/result.h"

namespace foretoken {

// Checks that `kernels` support `config`. Errors: a field whose value `kernels` do not support; a
// number of rows, up to kMaxTileRows, that fits in no tile of the configured chunk sizes.
Status CheckConfig(const Kernels& kernels, const KernelConfig& config);

// Every configuration that CheckConfig accepts.
std::vector<KernelConfig> AdmittedConfigs(const Kernels& kernels);

// For messages: "chunks of 8 to 12 rows, streams: 1, interleaved panels: 4, attention
// prefetches into L1".
std::string Describe(const KernelConfig& config);

}  // namespace foretoken
