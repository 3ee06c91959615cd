// How many threads of this process can run at the same time.
#pragma once

#include <optional>
#include <string>

namespace foretoken {

// Cores of the affinity mask, or CgroupCores() where that is less; at least 1.
int AvailableCores();

// The CPU quota of the process's cgroups, in cores, rounded up; at least 1. It is the least one up
// the hierarchy: `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1. Nothing where none is set
// or can be read. `root` goes before every path: /proc and where the hierarchies are mounted.
std::optional<int> CgroupCores(const std::string& root = "");

}  // namespace foretoken
