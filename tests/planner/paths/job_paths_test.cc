// Paths of machines small enough to follow by hand.

#include "planner/paths/job_paths.h"

#include <gtest/gtest.h>

#include "planner/paths/path_table.h"
#include "planner_support/machine_text.h"

namespace xylem::paths {
namespace {

using namespace testing;  // NOLINT: the machines

// The first domain's paths in a job of more ranks than the host has, so that NETs stay.
HostPaths pathsOf(const std::string& text, const ReachOptions& options = {}) {
  const topology::System system = systemOf(text);
  const auto domain = domains(system, options);
  return pathsOfDomain(system, domain, domain[0], 2 * system.count(topology::NodeType::kGpu), options);
}

const Path& between(const HostPaths& host, topology::NodeType from, int a, topology::NodeType to, int b) {
  return host.paths.path(host.system.node(from, a), host.system.node(to, b));
}

TEST(JobPaths, OfTwoGpusAndANicBelowOneSwitch) {
  const HostPaths host = pathsOf(twoGpusOneNic());
  const auto lines = pathLines(host.system, host.paths, nullptr);
  EXPECT_EQ(lines[0].text,
            "GPU/0-11000 :GPU/0-11000 (0/5000.0/LOC) GPU/0-12000 (2/12.0/PIX) CPU/0-0 (2/12.0/PHB) NET/0-0 "
            "(3/12.0/PIX) ");
  EXPECT_EQ(lines[2].text,
            "NET/0-0 :GPU/0-11000 (3/12.0/PIX) GPU/0-12000 (3/12.0/PIX) CPU/0-0 (3/12.0/PHB) NET/0-0 "
            "(0/5000.0/LOC) ");
}

TEST(JobPaths, GpuDirectReadsNeedAnNvlinkNeighbourBelowSm80) {
  const HostPaths host = pathsOf(twoGpusOneNic());
  const ReachOptions options;
  const Locality locality(host.system, host.paths);
  const Reach reach(host.system, host.paths, locality, options);
  const topology::NodeId gpu = host.system.node(topology::NodeType::kGpu, 0);
  const topology::NodeId net = host.system.node(topology::NodeType::kNet, 0);
  EXPECT_TRUE(reach.gdr(gpu, net, Direction::kReceive).yes);
  const Decision send = reach.gdr(gpu, net, Direction::kSend);
  EXPECT_FALSE(send.yes);
  EXPECT_EQ(send.reason, Reason::kOldGpuAlone);
  EXPECT_NE(explain(send, host.system).reason.find("NVLink neighbour"), std::string::npos);
}

TEST(JobPaths, AnotherGpusNicIsReachedThroughThatGpu) {
  std::string switches;
  for (int i = 0; i < 2; ++i)
    switches += pciSwitch(fmt::format("0000:{}0:00.0", i + 1),
                          gpu(fmt::format("0000:{}1:00.0", i + 1), i, 90, nvswitch(18), "32.0 GT/s PCIe") +
                              nic(fmt::format("0000:{}2:00.0", i + 1), i, 400000, "32.0 GT/s PCIe"),
                          "32.0 GT/s PCIe");
  const HostPaths host = pathsOf(machine(cpu(0, switches)));
  const Path& path = between(host, topology::NodeType::kGpu, 0, topology::NodeType::kNet, 1);
  EXPECT_EQ(path.type, PathType::kPxn);
  EXPECT_EQ(path.hops, 5);
  EXPECT_FLOAT_EQ(path.bandwidth, 48);
  // Only this direction changes.
  EXPECT_EQ(between(host, topology::NodeType::kNet, 1, topology::NodeType::kGpu, 0).type, PathType::kPhb);
  // And not when it is switched off.
  ReachOptions options;
  options.pxnDisable = true;
  EXPECT_EQ(between(pathsOf(machine(cpu(0, switches)), options), topology::NodeType::kGpu, 0,
                    topology::NodeType::kNet, 1)
                .type,
            PathType::kPhb);
}

TEST(JobPaths, WithoutDirectAccessGpusMeetInTheCpusMemory) {
  ReachOptions options;
  options.p2pLevel = PathType::kLoc;
  const HostPaths host = pathsOf(fourGpusMesh(), options);
  const Path& path = between(host, topology::NodeType::kGpu, 0, topology::NodeType::kGpu, 3);
  EXPECT_EQ(path.type, PathType::kPhb);
  EXPECT_EQ(path.hops, 2);
  EXPECT_FLOAT_EQ(path.bandwidth, 12);
}

TEST(JobPaths, GpusThatShareNothingAreDomainsOfTheirOwn) {
  ReachOptions options;
  options.p2pLevel = PathType::kLoc;
  options.shmDisable = true;
  const topology::System system = systemOf(fourGpusMesh());
  EXPECT_EQ(domains(system, options), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(domains(system, {}), (std::vector<int>{0, 0, 0, 0}));
}

TEST(JobPaths, TheNetsGoWhenTheJobFitsInTheHost) {
  const topology::System system = systemOf(twoGpusOneNic());
  const auto domain = domains(system, {});
  EXPECT_EQ(pathsOfDomain(system, domain, 0, 2, {}).system.count(topology::NodeType::kNet), 0);
  EXPECT_EQ(pathsOfDomain(system, domain, 0, 4, {}).system.count(topology::NodeType::kNet), 1);
}

TEST(JobPaths, HostDevicesOfOneHostAlwaysReachEachOther) {
  const auto device = [](int i) {
    return fmt::format(
        R"(<pci busid="0000:0{}:00.0" class="0x0302" link_speed="2.5 GT/s PCIe" link_width="16"><gpu dev="{}" sm="90" rank="{}" gdr="0" host="1"><c2c bw="20000" count="1"/></gpu></pci>)",
        i + 1, i, i);
  };
  const HostPaths host = pathsOf(machine(cpu(0, device(0)) + cpu(1, device(1))));
  const Path& path = between(host, topology::NodeType::kGpu, 0, topology::NodeType::kGpu, 1);
  EXPECT_EQ(path.type, PathType::kSys);
  const ReachOptions options;
  const Locality locality(host.system, host.paths);
  const Reach reach(host.system, host.paths, locality, options);
  const Decision decision =
      reach.p2p(host.system.node(topology::NodeType::kGpu, 0), host.system.node(topology::NodeType::kGpu, 1));
  EXPECT_TRUE(decision.yes);
  EXPECT_EQ(decision.reason, Reason::kHostDevices);
}

TEST(PathType, LevelsAreNamesOrOldDigits) {
  EXPECT_EQ(parseLevel("PXB", *testing::rules225()), PathType::kPxb);
  EXPECT_EQ(parseLevel("3", *testing::rules225()), PathType::kPhb);
  EXPECT_EQ(parseLevel("9", *testing::rules225()), PathType::kSys);
  EXPECT_EQ(parseLevel("NET", *testing::rules225()), std::nullopt);
  EXPECT_EQ(parseLevel("pix", *testing::rules225()), std::nullopt);
}

}  // namespace
}  // namespace xylem::paths
