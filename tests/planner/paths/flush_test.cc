// Must a receiver flush what a NIC has written into its GPU's memory?

#include <gtest/gtest.h>

#include "planner/paths/job_paths.h"
#include "planner_support/machine_text.h"

namespace xylem::paths {
namespace {

using namespace testing;  // NOLINT: the machines

Decision flushOf(const std::string& text, const char* version, const ReachOptions& options = {}) {
  const auto rules = rules::rulesOf(rules::parseVersion(version).value());
  const topology::System system = topology::buildSystem(
      topology::completeForJob(topology::parseTopology(text, "test.xml"), *rules), rules);
  const PathTable paths = findUsablePaths(system, options);
  const Locality locality(system, paths);
  const Reach reach(system, paths, locality, options);
  return reach.flush(system.node(topology::NodeType::kGpu, 0), system.node(topology::NodeType::kNet, 0));
}

constexpr const char* kC2c = R"(<c2c bw="44712" count="10"/>)";

// A GPU and a NIC below one switch, or the NIC on the CPU.
std::string hostWith(int sm, const char* links, bool nicOnCpu = false) {
  const std::string card = nic("0000:13:00.0", 0, 400000);
  const std::string own = gpu("0000:11:00.0", 0, sm, links);
  return machine(cpu(0, pciSwitch("0000:10:00.0", own + (nicOnCpu ? "" : card)) + (nicOnCpu ? card : ""),
                     R"(arch="arm64")"));
}

TEST(Flush, OlderGpusNeedIt) {
  EXPECT_EQ(flushOf(hostWith(80, ""), "2.25.1").reason, Reason::kOldGpu);
  EXPECT_FALSE(flushOf(hostWith(90, ""), "2.30.7").yes);
}

TEST(Flush, OverPciBesideAChipToChipLinkSince226) {
  EXPECT_FALSE(flushOf(hostWith(90, kC2c), "2.25.1").yes);
  const Decision since = flushOf(hostWith(90, kC2c), "2.26.2");
  EXPECT_TRUE(since.yes);
  EXPECT_EQ(since.reason, Reason::kPciBesideC2c);
  EXPECT_TRUE(flushOf(hostWith(100, kC2c), "2.30.7").yes);
  EXPECT_FALSE(flushOf(hostWith(90, kC2c, true), "2.30.7").yes)
      << "data comes over the chip-to-chip link, too";
}

TEST(Flush, DataDirectDevicesForceIt) {
  std::string text = hostWith(100, "");
  const std::string name = "name=\"mlx5_0\"";
  text.replace(text.find(name), name.size(), "name=\"mlx5_0_dma\"");
  EXPECT_EQ(flushOf(text, "2.30.7").reason, Reason::kDataDirect);
}

TEST(Flush, AVariableAsksForIt) {
  EXPECT_EQ(flushOf(hostWith(100, ""), "2.30.7", {.forceFlush = true}).reason, Reason::kAskedFor);
  EXPECT_TRUE(
      ReachOptions::from(Settings::fromPairs({{"NCCL_NET_FORCE_FLUSH", "1"}}), *rules225()).forceFlush);
}

}  // namespace
}  // namespace xylem::paths
