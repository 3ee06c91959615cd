// Number of threads of this process that can run at the same time.
#pragma once

#include <optional>
#include <string>

namespace foretoken {

// Cores in the affinity mask, limited by CgroupCores(); at least 1.
int AvailableCores();

// The CPU quota of the process's cgroups in cores, rounded up, at least 1: the smallest quota up
// the hierarchy, from `cpu.max` (version 2) or `cpu.cfs_quota_us` (version 1). nullopt if no quota
// is set or none can be read. `root` is prefixed to all paths: /proc and the mount points.
std::optional<int> CgroupCores(const std::string& root = "");

}  // namespace foretoken
