// The channel search on machines small enough to follow by hand.

#include "planner/search/channel_search.h"

#include <gtest/gtest.h>

#include "planner/paths/job_paths.h"
#include "planner_support/machine_text.h"

namespace xylem::search {
namespace {

using namespace testing;  // NOLINT: the machines

struct Searched {
  paths::HostPaths host;
  ChannelGraph ring, tree;
};

Searched search(const std::string& text, bool acrossHosts) {
  const topology::System system = systemOf(text);
  const int gpus = system.count(topology::NodeType::kGpu);
  Searched s{
      paths::pathsOfDomain(system, paths::domains(system, {}), 0, acrossHosts ? 2 * gpus : gpus, {}), {}, {}};
  const paths::Locality locality(s.host.system, s.host.paths);
  HostChannels channels(s.host.system, s.host.paths, locality, {});
  s.ring = channels.compute({.id = 0, .pattern = Pattern::kRing, .minChannels = 1, .maxChannels = 32});
  const int n = s.ring.nChannels;
  s.tree = channels.compute({.id = 1, .pattern = Pattern::kBalancedTree, .minChannels = n, .maxChannels = n});
  return s;
}

std::vector<int> order(const ChannelGraph& graph, int channel) {
  std::vector<int> gpus;
  for (int i = 0; i < graph.gpuCount; ++i) gpus.push_back(graph.gpu(channel, i));
  return gpus;
}

TEST(ChannelSearch, RingAndTreeOfTwoGpusBehindOneNic) {
  const Searched s = search(twoGpusOneNic(), true);
  EXPECT_EQ(s.ring.nChannels, 1);
  EXPECT_FLOAT_EQ(s.ring.bwIntra, 10);
  EXPECT_EQ(s.ring.nHops, 8);
  EXPECT_EQ(s.ring.attempts.size(), 20u);
  // Half of the tree's traffic leaves by each GPU, so less fits.
  EXPECT_EQ(s.tree.pattern, Pattern::kBalancedTree);
  EXPECT_FLOAT_EQ(s.tree.bwIntra, 7);
  EXPECT_EQ(s.tree.attempts.size(), 8u);
}

TEST(ChannelSearch, FourRingsOfAnUnevenMesh) {
  const Searched s = search(fourGpusMesh(), false);
  ASSERT_EQ(s.ring.nChannels, 4);
  EXPECT_FLOAT_EQ(s.ring.bwIntra, 20);
  EXPECT_EQ(order(s.ring, 0), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(order(s.ring, 1), (std::vector<int>{0, 3, 2, 1}));
  EXPECT_EQ(order(s.ring, 2), (std::vector<int>{0, 3, 1, 2}));
  EXPECT_EQ(order(s.ring, 3), (std::vector<int>{0, 2, 1, 3}));
  ASSERT_EQ(s.tree.nChannels, 4);
  EXPECT_FLOAT_EQ(s.tree.bwIntra, 40);
  EXPECT_EQ(order(s.tree, 2), (std::vector<int>{1, 2, 3, 0}));
}

TEST(ChannelSearch, BudgetsAreCountedInSteps) {
  const Searched s = search(fourGpusMesh(), false);
  const auto steps = [&](int i) { return s.ring.attempts[static_cast<std::size_t>(i)].steps; };
  EXPECT_EQ(steps(0), 256 - 239);      // 40 GB/s, same channels
  EXPECT_EQ(steps(1), 16384 - 16367);  // 40 GB/s, free
  EXPECT_EQ(steps(4), 256 - 120);      // 20 GB/s, same channels: one ring
  EXPECT_EQ(steps(5), 16384);          // 20 GB/s, free: four, then the budget ran out
  EXPECT_TRUE(s.ring.attempts[5].exhausted);
}

TEST(ChannelSearch, PrintsAGraphAsNcclDoes) {
  const Searched s = search(twoGpusOneNic(), true);
  const auto lines = graphLines(s.ring, s.host.system);
  EXPECT_EQ(lines[0].text,
            "Pattern 4, crossNic 0, nChannels 1, bw 10.000000/10.000000, type PIX/PIX, sameChannels 1");
  EXPECT_EQ(lines[1].text, " 0 : NET/0-0 GPU/0 GPU/1 NET/0-0");
}

TEST(ChannelSearch, OneGpuAloneHasChannelsToItself) {
  const Searched s = search(machine(cpu(0, gpu("0000:11:00.0", 0, 90))), false);
  EXPECT_EQ(s.ring.nChannels, 32);
  EXPECT_EQ(s.tree.pattern, Pattern::kTree);
}

}  // namespace
}  // namespace xylem::search
