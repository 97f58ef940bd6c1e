// Several ranks on one GPU (NCCL_MULTI_RANK_GPU_ENABLE), as NCCL since 2.30 plans them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/paths/path_table.h"
#include "planner/plan/plan_log.h"
#include "planner/plan/planner.h"
#include "planner_support/any_machine.h"
#include "planner_support/machine_text.h"

namespace xylem::plan {
namespace {

using namespace xylem::testing;  // NOLINT: the machines
using paths::PathType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using topology::NodeType;

// Four GPUs, each with a NIC below its switch, and an NVSwitch or none.
std::string fourGpus(bool switched, int sm = 90) {
  std::string inside;
  for (int i = 0; i < 4; ++i)
    inside += pciSwitch(
        fmt::format("0000:{}0:00.0", i + 1),
        gpu(fmt::format("0000:{}1:00.0", i + 1), i, sm, switched ? nvswitch(18) : "", "32.0 GT/s PCIe") +
            nic(fmt::format("0000:{}2:00.0", i + 1), i, 400000, "32.0 GT/s PCIe"),
        "32.0 GT/s PCIe");
  return machine(cpu(0, inside));
}

Plan sharedPlan(const std::string& text, std::vector<int> gpus, int hosts,
                std::map<std::string, std::string> variables = {}, bool nvls = false) {
  PlanRequest request = identicalHosts(topology::parseTopology(text, "test.xml"), hosts);
  request.hosts.front().gpus = std::move(gpus);
  request.offered.nvls = nvls;
  variables.emplace("NCCL_MULTI_RANK_GPU_ENABLE", "1");
  variables.emplace("XYLEM_NCCL", "2.30.7");
  return planJob(request, Settings::fromPairs(variables));
}

void expectRings(const Plan& plan) {
  ASSERT_GT(plan.connections.nChannels(), 0);
  for (int channel = 0; channel < plan.connections.nChannels(); ++channel) {
    std::vector<int> ring = connect::ringOf(plan.connections, channel);
    std::sort(ring.begin(), ring.end());
    ASSERT_EQ(ring.size(), static_cast<std::size_t>(plan.job().ranks()));
    for (int rank = 0; rank < plan.job().ranks(); ++rank)
      EXPECT_EQ(ring[static_cast<std::size_t>(rank)], rank);
  }
}

TEST(MultiRank, RanksOfAGpuAreNodesOnOneDevice) {
  const Plan plan = sharedPlan(fourGpus(true), {0, 0, 1, 1}, 2);
  const topology::System& system = plan.hostOf(0).system();
  ASSERT_EQ(system.count(NodeType::kGpu), 4);
  EXPECT_EQ(system.deviceCount(), 2);
  std::vector<std::string> names;
  for (const topology::NodeId gpu : system.nodes(NodeType::kGpu)) names.push_back(system.name(gpu));
  EXPECT_THAT(names, ElementsAre("GPU/0-11000", "GPU/0-10000011000", "GPU/0-21000", "GPU/0-10000021000"));
  const topology::NodeId first = system.gpuOfRank(0), second = system.gpuOfRank(1);
  ASSERT_EQ(system.links(second).size(), 1u) << "all wires belong to the device";
  EXPECT_EQ(system.deviceOf(second), first);
  const paths::PathTable& paths = plan.hostOf(0).paths.paths;
  EXPECT_EQ(paths.path(first, second).type, PathType::kLoc);
  EXPECT_EQ(paths.path(first, second).bandwidth, 5000.0f);
  EXPECT_EQ(paths.path(second, system.gpuOfRank(3)).type, PathType::kNvl);
  EXPECT_EQ(paths.path(second, system.gpuOfRank(3)).bandwidth,
            paths.path(first, system.gpuOfRank(2)).bandwidth);
  EXPECT_EQ(paths.path(second, system.node(NodeType::kNet, 0)).type, PathType::kPix);
  expectRings(plan);
}

TEST(MultiRank, RanksOfAGpuReachEachOtherWhateverTheLevel) {
  const Plan plan = sharedPlan(fourGpus(false), {0, 0, 1, 1}, 2, {{"NCCL_P2P_DISABLE", "1"}});
  const connect::NetChoice choice(plan.connections, plan.reach);
  EXPECT_EQ(choice.transport(0, 1, paths::Direction::kSend), connect::TransportKind::kP2p);
  EXPECT_NE(choice.transport(0, 2, paths::Direction::kSend), connect::TransportKind::kP2p);
  expectRings(plan);
}

TEST(MultiRank, RanksOfAGpuShareItsNicAndItsBandwidth) {
  const Plan one = sharedPlan(fourGpus(false), {0, 1}, 2);
  const Plan two = sharedPlan(fourGpus(false), {0, 0, 1, 1}, 2);
  EXPECT_EQ(two.hostOf(0).totalBandwidth, one.hostOf(0).totalBandwidth);
  EXPECT_EQ(two.hostOf(0).maxBandwidth, one.hostOf(0).maxBandwidth);
  const topology::System& system = two.hostOf(0).system();
  const paths::Locality locality(system, two.hostOf(0).paths.paths);
  EXPECT_EQ(locality.localNet(system.gpuOfRank(0), 0), locality.localNet(system.gpuOfRank(1), 0));
  expectRings(two);
}

// The links of paths as NCCL counts them: rank, device, ..., device, rank.
TEST(MultiRank, HopsAndLinesOfTheLog) {
  const std::string log = logText(planLog(sharedPlan(fourGpus(true), {0, 0, 1}, 1), 0));
  EXPECT_THAT(log, HasSubstr("DEV/0-11000 (0)\n"
                             "                            + LOC[5000.0] - GPU/0-11000\n"
                             "                            + LOC[5000.0] - GPU/0-10000011000\n"
                             "                            + NVL[370.8] - NVS/0-0\n"));
  EXPECT_THAT(log, HasSubstr("GPU/0-11000 :GPU/0-11000 (0/5000.0/LOC) GPU/0-10000011000 (2/5000.0/LOC) "
                             "GPU/0-21000 (4/370.8/NVL) NVS/0-0 (2/370.8/NVL) CPU/0-0 (3/48.0/PHB) "));
  EXPECT_THAT(log, HasSubstr("GPU/0-10000011000 :GPU/0-11000 (2/5000.0/LOC) GPU/0-10000011000 (0/5000.0/LOC) "
                             "GPU/0-21000 (4/370.8/NVL) NVS/0-0 (2/370.8/NVL) CPU/0-0 (3/48.0/PHB) "));
  EXPECT_THAT(log, HasSubstr("DEV/0-11000 (1/5000.0/LOC) DEV/0-21000 (3/370.8/NVL) \n"));
}

TEST(MultiRank, AnyMachineHasRingsThroughAllRanks) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = anyMachine();
    std::vector<int> gpus;
    for (std::size_t at = text.find("<gpu "); at != std::string::npos; at = text.find("<gpu ", at + 1))
      gpus.insert(gpus.end(), static_cast<std::size_t>(*rc::gen::inRange(1, 4)),
                  static_cast<int>(gpus.size()));
    // The list has each GPU's number one to three times, in the order of the numbers.
    int dev = -1, last = -1;
    for (int& gpu : gpus) {
      if (gpu != last) ++dev;
      last = gpu;
      gpu = dev;
    }
    const Plan plan = sharedPlan(text, gpus, *rc::gen::inRange(1, 4));
    RC_ASSERT(plan.connections.nChannels() >= 1);
    for (int channel = 0; channel < plan.connections.nChannels(); ++channel) {
      std::vector<int> ring = connect::ringOf(plan.connections, channel);
      std::sort(ring.begin(), ring.end());
      for (int rank = 0; rank < plan.job().ranks(); ++rank)
        RC_ASSERT(ring.at(static_cast<std::size_t>(rank)) == rank);
    }
  }));
}

TEST(MultiRank, AloneOnOneGpu) { expectRings(sharedPlan(fourGpus(true), {2, 2, 2}, 1)); }

TEST(MultiRank, NoNvlsIfTheLastTwoRanksShareAGpu) {
  const auto hasNvls = [](std::vector<int> gpus) {
    return sharedPlan(fourGpus(true), std::move(gpus), 1, {}, true).connections.nvlsHeads > 0;
  };
  EXPECT_TRUE(hasNvls({0, 1, 2, 3}));
  EXPECT_TRUE(hasNvls({0, 0, 1, 2})) << "other ranks that share one do not matter";
  EXPECT_FALSE(hasNvls({0, 1, 2, 2}));
  EXPECT_THAT(
      [] {
        sharedPlan(fourGpus(true), {0, 1, 2, 2}, 1, {{"NCCL_NVLS_ENABLE", "1"}}, true);
      },
      ThrowsMessage<Error>(HasSubstr("NCCL_NVLS_ENABLE=1 in a job whose last two ranks are on one GPU")));
}

TEST(MultiRank, OnlyIfTheVariableAsksForItSince230) {
  EXPECT_THAT(
      [] {
        sharedPlan(fourGpus(true), {0, 0}, 1, {{"NCCL_MULTI_RANK_GPU_ENABLE", "0"}});
      },
      ThrowsMessage<InputError>(AllOf(HasSubstr("GPU 0 twice in the list of GPUs to use"),
                                      HasSubstr("NCCL_MULTI_RANK_GPU_ENABLE=1 allows several"))));
  EXPECT_THAT(
      [] {
        sharedPlan(fourGpus(true), {0, 0}, 1, {{"XYLEM_NCCL", "2.29.7"}});
      },
      ThrowsMessage<InputError>(HasSubstr("NCCL 2.29.7 does not let ranks share one")));
}

// Four ranks, two on each of two GPUs, as a file has them. Only the first rank's links count.
std::string described(const std::string& second) {
  const auto device = [&](int i) {
    return fmt::format(
        R"(<pci busid="0000:{}1:00.0" class="0x030200" link_speed="" link_width="16">)"
        R"(<gpu dev="{}" sm="90" rank="{}" gdr="1">{}</gpu><gpu dev="{}" sm="90" rank="{}" gdr="1">{}</gpu></pci>)",
        i + 1, i, i, nvswitch(18), i, i + 2, second);
  };
  return machine(cpu(0, device(0) + device(1)));
}

TEST(MultiRank, AFileMayDescribeThem) {
  const Plan plan = sharedPlan(described(nvswitch(18)), {}, 1);
  const topology::System& system = plan.hostOf(0).system();
  const topology::NodeId nvs = system.node(NodeType::kNvs, 0);
  ASSERT_EQ(system.links(nvs).size(), 2u);
  EXPECT_EQ(system.links(nvs).front().bandwidth, 18 * 20.6f) << "the second rank's links do not count again";
  EXPECT_EQ(system.deviceOf(system.gpuOfRank(2)), system.gpuOfRank(0));
  expectRings(plan);
  EXPECT_THAT(
      [] {
        sharedPlan(described(""), {}, 1, {{"NCCL_MULTI_RANK_GPU_ENABLE", "0"}});
      },
      ThrowsMessage<InputError>(HasSubstr("NCCL_MULTI_RANK_GPU_ENABLE=1 allows several")));
  EXPECT_THAT(
      [] {
        sharedPlan(described(""), {}, 1, {{"XYLEM_NCCL", "2.29.7"}});
      },
      ThrowsMessage<InputError>(HasSubstr("a second gpu in one pci element")));
}

TEST(MultiRank, PartsOfAGpuAreRanksOnItWithoutSplitting) {
  std::string parts;
  for (int part = 0; part < 2; ++part)
    parts += fmt::format(R"(<gpu dev="0" sm="100" rank="{}" gdr="1" mlopart="{}">{}</gpu>)", part, part,
                         nvswitch(18));
  const std::string text =
      machine(cpu(0, R"(<pci busid="0000:1b:00.0" class="0x030200" link_speed="" link_width="16">)" + parts +
                         "</pci>" + nic("0000:1c:00.0", 0, 400000)));
  const Plan plan =
      sharedPlan(text, {}, 2, {{"NCCL_TOPO_SPLIT_MLOPART", "0"}, {"NCCL_MULTI_RANK_GPU_ENABLE", "0"}});
  const topology::System& system = plan.hostOf(0).system();
  EXPECT_EQ(system.name(system.gpuOfRank(0)), "GPU/0-1b000");
  EXPECT_EQ(system.name(system.gpuOfRank(1)), "GPU/0-1000001b000");
  EXPECT_EQ(system.links(system.node(NodeType::kNvs, 0)).front().bandwidth, 18 * 40.1f);
  const connect::NetChoice choice(plan.connections, plan.reach);
  EXPECT_FALSE(choice.ringEnd(1, 0, 2, paths::Direction::kSend).value_or(connect::NetEnd{}).gdr)
      << "parts have no GPU Direct RDMA, split or not";
  expectRings(plan);
}

}  // namespace
}  // namespace xylem::plan
