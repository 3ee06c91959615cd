#include "base/available_cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace foretoken {
namespace {

constexpr double kMostCores = 1 << 20;

// A mounted cgroup hierarchy that has the CPU controller, or may have it.
struct Hierarchy {
  int version = 2;
  std::string root;   // the cgroup at the mount point
  std::string mount;  // the mount point
};

bool Contains(std::string_view list, std::string_view name) {
  std::istringstream items{std::string(list)};
  for (std::string item; std::getline(items, item, ',');) {
    if (item == name) return true;
  }
  return false;
}

// Parses /proc/self/mountinfo (proc(5)): "ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS... - TYPE SOURCE
// SUPER_OPTIONS".
std::vector<Hierarchy> ReadMounts(const std::string& path) {
  std::vector<Hierarchy> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string skipped, type, source, options;
    Hierarchy h;
    before >> skipped >> skipped >> skipped >> h.root >> h.mount;
    after >> type >> source >> options;
    h.version = type == "cgroup2" ? 2 : 1;
    if (type == "cgroup2" || (type == "cgroup" && Contains(options, "cpu"))) found.push_back(h);
  }
  return found;
}

// The process's cgroup in the hierarchy, from /proc/self/cgroup (cgroups(7)):
// "ID:CONTROLLERS:PATH", without controllers in version 2. Empty if there is none.
std::string ReadCgroup(const std::string& path, int version) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = version == 2 ? controllers.empty() : Contains(controllers, "cpu");
    if (matches && line.size() > second + 1) return line.substr(second + 1);
  }
  return "";
}

// The quota of one cgroup, in cores.
std::optional<double> ReadQuota(const std::string& folder, int version) {
  double quota = 0, period = 0;
  if (version == 2) {
    std::ifstream file(folder + "/cpu.max");  // "max 100000" if there is no quota
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us");  // -1 if there is no quota
    std::ifstream period_file(folder + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// The smallest quota of `cgroup` and the cgroups above it.
std::optional<double> LeastQuota(const std::string& root, const Hierarchy& h, std::string cgroup) {
  // Path relative to the mounted cgroup; of cgroups outside it only the mount point can be read.
  if (h.root != "/") {
    const bool is_inside = (cgroup + "/").starts_with(h.root + "/");
    cgroup = is_inside ? cgroup.substr(h.root.size()) : "";
  }
  if (cgroup.starts_with("/..")) cgroup.clear();
  std::optional<double> least;
  for (;;) {
    const std::optional<double> quota = ReadQuota(root + h.mount + cgroup, h.version);
    if (quota && (!least || *quota < *least)) least = quota;
    if (cgroup.empty()) return least;
    const size_t slash = cgroup.rfind('/');
    cgroup.resize(slash == std::string::npos ? 0 : slash);
  }
}

int AffinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

std::optional<int> CgroupCores(const std::string& root) {
  std::optional<double> least;
  for (const Hierarchy& h : ReadMounts(root + "/proc/self/mountinfo")) {
    const std::string cgroup = ReadCgroup(root + "/proc/self/cgroup", h.version);
    if (cgroup.empty()) continue;
    const std::optional<double> quota = LeastQuota(root, h, cgroup);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  if (!least) return std::nullopt;
  return static_cast<int>(std::ceil(std::min(*least, kMostCores)));
}

int AvailableCores() {
  const int cores = AffinityCores();
  return std::min(cores, CgroupCores().value_or(cores));
}

}  // namespace foretoken
