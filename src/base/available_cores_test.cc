// CPU quotas from simulated cgroup files.
#include "base/available_cores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr char kVersion2[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char kVersion1[] =
    "30 23 0:25 / /sys/fs/cgroup ro - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

class CgroupTest : public testing::Test {
 protected:
  CgroupTest() : root_(testing::TempDir() + "cgroups_" + std::to_string(getpid())) {}
  ~CgroupTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  // Writes the process's mounts and cgroups.
  void Process(const std::string& mounts, const std::string& cgroups) {
    Write("/proc/self/mountinfo", "23 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts);
    Write("/proc/self/cgroup", cgroups);
  }
  std::optional<int> Cores() { return CgroupCores(root_); }

  std::string root_;
};

TEST_F(CgroupTest, WithoutFilesThereIsNoQuota) { EXPECT_EQ(Cores(), std::nullopt); }

TEST_F(CgroupTest, MaxIsNoQuota) {
  Process(kVersion2, "0::/a\n");
  Write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(Cores(), std::nullopt);
}

TEST_F(CgroupTest, FractionsAreRoundedUp) {
  Process(kVersion2, "0::/a\n");
  Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(Cores(), 2);
  Write("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  EXPECT_EQ(Cores(), 2);
  Write("/sys/fs/cgroup/a/cpu.max", "1000 100000\n");
  EXPECT_EQ(Cores(), 1);
}

TEST_F(CgroupTest, TheSmallestQuotaUpTheHierarchyCounts) {
  Process(kVersion2, "0::/a/b/c\n");
  Write("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/a/b/c/cpu.max", "400000 50000\n");
  EXPECT_EQ(Cores(), 3);
  Write("/sys/fs/cgroup/a/other/cpu.max", "100000 100000\n");
  EXPECT_EQ(Cores(), 3);
  Write("/sys/fs/cgroup/cpu.max", "250000 250000\n");
  EXPECT_EQ(Cores(), 1);
}

// A container sees its own cgroup as the root: in a cgroup namespace, or because only that cgroup
// is mounted.
TEST_F(CgroupTest, AContainerReadsItsOwnCgroup) {
  Process(kVersion2, "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "50000 10000\n");
  EXPECT_EQ(Cores(), 5);
  Process("30 23 0:26 /docker/7f /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/7f/x\n");
  Write("/sys/fs/cgroup/x/cpu.max", "40000 10000\n");
  EXPECT_EQ(Cores(), 4);
  for (const char* outside : {"0::/elsewhere\n", "0::/docker/7f8/x\n"}) {
    Process("30 23 0:26 /docker/7f /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", outside);
    Write("/sys/fs/cgroup8/x/cpu.max", "10000 10000\n");
    EXPECT_EQ(Cores(), 5);
  }
  Process(kVersion2, "0::/../outside\n");
  EXPECT_EQ(Cores(), 5);
}

TEST_F(CgroupTest, VersionOneQuotasAreRead) {
  Process(kVersion1, "5:cpuset:/\n4:cpu,cpuacct:/user/x\n0::/\n");
  const std::string folder = "/sys/fs/cgroup/cpu,cpuacct/user";
  Write(folder + "/x/cpu.cfs_quota_us", "-1\n");
  Write(folder + "/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), std::nullopt);
  Write(folder + "/cpu.cfs_quota_us", "250000\n");
  Write(folder + "/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), 3);
  Write(folder + "/x/cpu.cfs_quota_us", "120000\n");
  EXPECT_EQ(Cores(), 2);
}

TEST_F(CgroupTest, DamagedFilesAreNoQuota) {
  Process(std::string(kVersion2) + "nonsense\n1 2 - \n", "::\nnonsense\n0::/a\n");
  for (const char* text : {"", "\n", "much", "100000", "-5 100000", "100000 0", "nan nan"}) {
    Write("/sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(Cores(), std::nullopt) << text;
  }
  Write("/sys/fs/cgroup/a/cpu.max", "1e300 1");
  EXPECT_GE(Cores(), 1024);
}

TEST(AvailableCores, IsAtLeastOne) { EXPECT_GE(AvailableCores(), 1); }

}  // namespace
}  // namespace foretoken
