// How many cores control groups leave to a process, on machines made of files.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/temporary_directory.h"
#include "runtime/device/host_device.h"

namespace xylem::device {
namespace {

class CoreQuotas : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  std::optional<double> found() const {
    const auto quota = coreQuota(root_ / ".");
    if (!quota) return std::nullopt;
    EXPECT_NE(quota->group, 0u);
    return quota->cores;
  }

 private:
  const TemporaryDirectory root_;
};

TEST_F(CoreQuotas, IsNoneWhereNothingLimits) {
  EXPECT_EQ(found(), std::nullopt) << "no groups at all";
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/cpu.max", "max 100000");
  EXPECT_EQ(found(), std::nullopt);
}

TEST_F(CoreQuotas, IsTheLeastOfTheGroupAndThoseAroundIt) {
  write("proc/self/cgroup", "0::/slice/job/step");
  write("sys/fs/cgroup/slice/job/step/cpu.max", "800000 100000");
  write("sys/fs/cgroup/slice/job/cpu.max", "250000 100000");
  write("sys/fs/cgroup/slice/cpu.max", "max 100000");
  EXPECT_EQ(found(), 2.5);
}

TEST_F(CoreQuotas, InAContainerIsThatOfTheTop) {
  write("proc/self/cgroup", "0::/../../docker/4711");
  write("sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_EQ(found(), 1.5);
}

TEST_F(CoreQuotas, OfVersionOneIsInTwoFiles) {
  write("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/job");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(found(), 4.0);
}

TEST_F(CoreQuotas, IgnoresWhatIsNoQuota) {
  write("proc/self/cgroup", "no groups\n:\n0::/job");
  write("sys/fs/cgroup/job/cpu.max", "-5 none");
  EXPECT_EQ(found(), std::nullopt);
}

}  // namespace
}  // namespace xylem::device
