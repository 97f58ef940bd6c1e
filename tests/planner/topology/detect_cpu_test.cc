#include "planner/topology/detect_cpu.h"

#include <gtest/gtest.h>

#include "planner/topology/captured_machine.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;

TEST(CpuSetTest, ReadsAndWritesWhatTheKernelDoes) {
  EXPECT_EQ(CpuSet::ofList("0-2,5,33").numbers(), (std::vector<int>{0, 1, 2, 5, 33}));
  EXPECT_EQ(CpuSet::ofMask("00000002,00000027").numbers(), (std::vector<int>{0, 1, 2, 5, 33}));
  EXPECT_EQ(CpuSet::ofList("0-2,5,33").mask(), "00000002,00000027");
  EXPECT_EQ((CpuSet::ofList("0-3") & CpuSet::ofList("2-9")).mask(), "0000000c");
  EXPECT_TRUE((CpuSet::ofList("0-3") & CpuSet::ofList("40")).empty());
}

TEST(CpuSetTest, NonsenseIsNoCpu) {
  EXPECT_TRUE(CpuSet::ofList("").empty());
  EXPECT_TRUE(CpuSet::ofList("all,-4,7-3").empty());
  EXPECT_TRUE(CpuSet::ofMask("zz").empty());
  EXPECT_LE(CpuSet::ofList("0-2000000000").numbers().size(), 1u << 16);
}

CapturedMachine& twoNodes(CapturedMachine& machine) {
  machine.addCpus({.nodes = 2, .coresPerNode = 2, .threadsPerCore = 2});
  return machine;
}

TEST(DetectCpuTest, CoresAreKnownByTheirFirstCpu) {
  CapturedMachine machine;
  const CpuLayout layout = readCpuLayout(twoNodes(machine).root());
  ASSERT_EQ(layout.nodes.size(), 2u);
  EXPECT_EQ(layout.nodes[0].cores, (std::vector<int>{0, 2}));
  EXPECT_EQ(layout.nodes[1].cores, (std::vector<int>{4, 6}));
  EXPECT_EQ(layout.nodes[1].affinityMask, "000000f0");
}

TEST(DetectCpuTest, OnlyOnlineCpusCount) {
  CapturedMachine machine;
  twoNodes(machine).write("sys/devices/system/cpu/online", "1-3");
  const CpuLayout layout = readCpuLayout(machine.root());
  ASSERT_EQ(layout.nodes.size(), 1u);
  EXPECT_EQ(layout.nodes[0].cores, (std::vector<int>{1, 2}));
  EXPECT_EQ(layout.nodes[0].affinityMask, "0000000e");
}

TEST(DetectCpuTest, ControlGroupsLimitTheCpus) {
  CapturedMachine second;
  twoNodes(second).write("proc/self/cgroup", "0::/job/step");
  second.write("sys/fs/cgroup/job/step/cpuset.cpus.effective", "4-7");
  EXPECT_EQ(readCpuLayout(second.root()).nodes.front().id, 1);

  CapturedMachine first;
  twoNodes(first).write("proc/self/cgroup", "7:memory:/job\n4:cpuset:/job\n0::/");
  first.write("sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", "0,1");
  EXPECT_EQ(readCpuLayout(first.root()).coreCount(), 1);
}

TEST(DetectCpuTest, InAContainerTheMountedControlGroupIsItsOwn) {
  CapturedMachine machine;
  twoNodes(machine).write("proc/self/cgroup", "0::/of/the/host");
  machine.write("sys/fs/cgroup/cpuset.cpus.effective", "0-1");
  EXPECT_EQ(readCpuLayout(machine.root()).coreCount(), 1);
}

TEST(DetectCpuTest, WithoutNodesAndCoresEveryCpuIsACore) {
  CapturedMachine machine;
  machine.write("sys/devices/system/cpu/online", "0-2");
  const CpuLayout layout = readCpuLayout(machine.root());
  ASSERT_EQ(layout.nodes.size(), 1u);
  EXPECT_EQ(layout.nodes[0].id, 0);
  EXPECT_EQ(layout.coreCount(), 3);
}

}  // namespace
}  // namespace xylem::topology
