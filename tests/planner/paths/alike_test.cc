// Groups of GPUs that are alike: the paths copied from one GPU of a group to the others are those that a search for
// each GPU finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "planner/paths/find_paths.h"
#include "planner/topology/complete.h"
#include "planner/topology/detect_cpu.h"
#include "planner/topology/detect_gpus.h"
#include "planner/topology/detect_pci.h"
#include "planner/topology/system_builder.h"
#include "planner_support/rules.h"

namespace xylem::paths {
namespace {

namespace fs = std::filesystem;

void expectTheSame(const topology::System& system, const std::string& machine) {
  for (const bool allowNvb : {false, true}) {
    const PathTable found = findPaths(system, allowNvb);
    std::vector<topology::NodeId> ends;
    for (topology::NodeId node = 0; node < system.nodeCount(); ++node)
      if (found.isEndpoint(node)) ends.push_back(node);
    const PathTable searched = findPaths(system, allowNvb, ends);
    for (const topology::NodeId from : ends)
      for (const topology::NodeId to : ends) {
        const Path& a = found.path(from, to);
        const Path& b = searched.path(from, to);
        ASSERT_TRUE(a.type == b.type && a.bandwidth == b.bandwidth &&
                    std::ranges::equal(found.links(a), searched.links(b)))
            << machine << ": " << system.name(from) << " to " << system.name(to);
      }
  }
}

// `count` host devices on two NUMA nodes.
topology::System hostDevices(int count) {
  topology::CpuLayout layout;
  layout.nodes = {{0, {0, 1}, "3"}, {1, {2, 3}, "c"}};
  layout.identity = {"x86_64", "GenuineIntel", 6, 143};
  topology::Document document;
  topology::CpuElements cpus(document, layout, "/nonexistent", "0x1");
  cpus.addAll();
  topology::PciTree pci(document, cpus, "/nonexistent");
  topology::addHostDevices(document, cpus, pci, layout, count);
  return topology::buildSystem(topology::completeForJob(document, *testing::rules225()), testing::rules225());
}

TEST(AlikeGpus, HaveThePathsThatASearchForEachFinds) {
  for (const auto& file : fs::directory_iterator(XYLEM_SOURCE_DIR "/topologies"))
    if (file.path().extension() == ".xml")
      expectTheSame(
          topology::buildSystem(
              topology::completeForJob(topology::readTopology(file.path().string()), *testing::rules225()),
              testing::rules225()),
          file.path().string());
  expectTheSame(hostDevices(9), "host devices");
}

TEST(AlikeGpus, AreTheHostDevicesOfANode) {
  const auto groups = alikeGpus(hostDevices(12));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].size(), 6u);
  EXPECT_EQ(groups[1].size(), 6u);
}

TEST(AlikeGpus, AreNotThoseJoinedByNvlink) {
  const topology::System system = topology::buildSystem(
      topology::completeForJob(topology::readTopology(XYLEM_SOURCE_DIR "/topologies/seed-a40x2.xml"),
                               *testing::rules225()),
      testing::rules225());
  EXPECT_EQ(alikeGpus(system).size(), 2u);
}

}  // namespace
}  // namespace xylem::paths
