// Captured machines: detection gives each recipe of tests/planner/topology/machines (machine_recipe.h) the
// description that follows from NCCL's rules by hand. A copy of a machine's files (detect_capture.h) gives
// the same description.
#include <gmock/gmock.h>

#include <algorithm>

#include "planner/connect/rings.h"
#include "planner/plan/planner.h"
#include "planner/topology/complete.h"
#include "planner/topology/detect.h"
#include "planner/topology/detect_capture.h"
#include "planner/topology/machine_recipe.h"
#include "planner/topology/system_builder.h"
#include "planner_support/rules.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Its hash is 5381 * 33 ^ 'a' = 0x2b5c4.
constexpr const char* kHostId = "a";

struct Replay {
  Document document;
  std::vector<std::string> remarks;
};

// Detects a machine of the folder after `change` has changed its files and the options.
template <typename Change>
Replay replay(const std::string& name, Change change) {
  CapturedMachine machine;
  buildMachine(machine, testing::readMachineFile(name, ".txt"));
  const auto gpus = gpuSourceOf(machine.root());
  DetectOptions options;
  options.hostId = kHostId;
  options.root = machine.root();
  options.gpus = gpus.get();
  change(machine, options);
  Replay result;
  result.document = detectTopology(options, &result.remarks);
  return result;
}

Replay replay(const std::string& name) {
  return replay(name, [](CapturedMachine&, DetectOptions&) {});
}

class ReplayTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ReplayTest, GivesTheDescription) {
  EXPECT_EQ(writeTopology(replay(GetParam()).document), testing::readMachineFile(GetParam(), ".xml"));
}

TEST_P(ReplayTest, TheDescriptionReadsBack) {
  const std::string text = writeTopology(replay(GetParam()).document);
  EXPECT_EQ(writeTopology(parseTopology(text, "again")), text);
}

// Every ring over two such hosts contains every rank once.
TEST_P(ReplayTest, HasRings) {
  const plan::Plan plan = plan::planJob(plan::identicalHosts(replay(GetParam()).document, 2), Settings());
  ASSERT_GT(plan.connections.nChannels(), 0);
  for (int channel = 0; channel < plan.connections.nChannels(); ++channel) {
    std::vector<int> ring = connect::ringOf(plan.connections, channel);
    std::sort(ring.begin(), ring.end());
    EXPECT_EQ(ring.size(), static_cast<std::size_t>(plan.job().ranks()));
    EXPECT_EQ(std::adjacent_find(ring.begin(), ring.end()), ring.end());
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, ReplayTest,
                         ::testing::Values("two-sockets-with-switches", "virtual-machine-with-vfs",
                                           "card-without-numa-node", "missing-link-speeds", "grace-hopper",
                                           "container-with-half-the-gpus", "dual-port-card"));

TEST(Replay, NothingOddGivesNoRemarks) {
  EXPECT_THAT(replay("two-sockets-with-switches").remarks, IsEmpty());
  EXPECT_THAT(replay("grace-hopper").remarks, IsEmpty());
}

TEST(Replay, SaysThatACardHasNoNumaNode) {
  EXPECT_THAT(replay("card-without-numa-node").remarks,
              ElementsAre(HasSubstr("no NUMA node for 0000:a1:00.0: NCCL puts it below a CPU of its own")));
}

TEST(Replay, SaysThatVirtualFunctionsCountAsOneCardAndTellsThemApartOnRequest) {
  EXPECT_THAT(replay("virtual-machine-with-vfs").remarks,
              ElementsAre(HasSubstr("0000:00:06, 0000:00:07 count as one card 0000:00:00.0")));
  const Replay apart =
      replay("virtual-machine-with-vfs", [](auto&, auto& options) { options.rdma.mergeFunctions = false; });
  EXPECT_THAT(apart.remarks, IsEmpty());
  EXPECT_EQ(buildSystem(completeForJob(apart.document, *testing::rules225()), testing::rules225())
                .count(NodeType::kNic),
            2);
}

TEST(Replay, OtherEndsThatTheContainerDoesNotSeeCountAsSwitches) {
  const Replay hidden = replay("container-with-half-the-gpus", [](CapturedMachine& machine, DetectOptions&) {
    for (const char* busId : {"0000:01:00.0", "0000:41:00.0"})
      std::filesystem::remove(machine.root() / "sys/bus/pci/devices" / busId);
  });
  const System system =
      buildSystem(completeForJob(hidden.document, *testing::rules225()), testing::rules225());
  EXPECT_EQ(system.count(NodeType::kNvs), 1);
}

TEST(Replay, RdmaDevicesAreChosenByNameAndPort) {
  const auto netsWith = [](const std::string& hca, bool disable) {
    const Replay chosen = replay("dual-port-card", [&](CapturedMachine& machine, DetectOptions& options) {
      machine.addInterface("eth0", 2);
      options.rdma.hca = hca;
      options.rdma.disable = disable;
    });
    const System system =
        buildSystem(completeForJob(chosen.document, *testing::rules225()), testing::rules225());
    std::vector<std::string> names;
    for (const NodeId net : system.nodes(NodeType::kNet)) names.push_back(system.net(net).name);
    return names;
  };
  EXPECT_THAT(netsWith("=mlx5_2,mlx5_3:1", false), ElementsAre("mlx5_2", "mlx5_3"));
  EXPECT_THAT(netsWith("^mlx5_0,mlx5_1", false), ElementsAre("mlx5_2", "mlx5_3"));
  EXPECT_THAT(netsWith("mlx5_1:2", false), ElementsAre("eth0")) << "no such port: sockets are left";
  EXPECT_THAT(netsWith("", true), ElementsAre("eth0"));
}

TEST(Replay, OnlyActivePortsCount) {
  const Replay down = replay("dual-port-card", [](CapturedMachine& machine, DetectOptions&) {
    machine.write("sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN");
  });
  EXPECT_EQ(buildSystem(completeForJob(down.document, *testing::rules225()), testing::rules225())
                .count(NodeType::kNet),
            3);
}

TEST(Replay, WithoutGpuFactsThereAreHostDevicesAndAWordOnWhy) {
  const Replay bare = replay("grace-hopper", [](CapturedMachine& machine, DetectOptions&) {
    std::filesystem::remove(machine.root() / kCapturedGpusFile);
  });
  EXPECT_THAT(bare.remarks, ElementsAre(HasSubstr("0009:01:00.0, 0019:01:00.0 on the PCI bus are left out")));
  const System system = buildSystem(completeForJob(bare.document, *testing::rules225()), testing::rules225());
  ASSERT_EQ(system.count(NodeType::kGpu), 4) << "one per core";
  EXPECT_TRUE(system.gpu(system.gpuOfRank(0)).hostDevice);
}

TEST(Replay, SaysWhenNcclHasNoRoom) {
  const Replay large = replay("grace-hopper", [](CapturedMachine& machine, DetectOptions&) {
    for (int i = 0; i < 256; ++i) machine.addInterface(fmt::format("eth{}", i), i + 2);
    std::filesystem::remove_all(machine.root() / "sys/class/infiniband_verbs");
  });
  EXPECT_THAT(large.remarks, ElementsAre(HasSubstr("NCCL has room for 256")));
}

std::string describe(const std::filesystem::path& root, bool gpus) {
  const auto source = gpuSourceOf(root);
  DetectOptions options;
  options.root = root;
  if (gpus) options.gpus = source.get();
  return writeTopology(detectTopology(options));
}

class CaptureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CaptureTest, ReplaysAsTheMachineItself) {
  CapturedMachine machine;
  buildMachine(machine, testing::readMachineFile(GetParam(), ".txt"));
  machine.write("proc/sys/kernel/hostname", "node7");
  const CapturedMachine folder;
  captureMachine(machine.root(), gpuSourceOf(machine.root())->read().gpus, folder.root());
  for (const bool gpus : {true, false})
    EXPECT_EQ(describe(folder.root(), gpus), describe(machine.root(), gpus));
}

INSTANTIATE_TEST_SUITE_P(Machines, CaptureTest,
                         ::testing::Values("two-sockets-with-switches", "virtual-machine-with-vfs",
                                           "card-without-numa-node", "missing-link-speeds", "grace-hopper",
                                           "container-with-half-the-gpus", "dual-port-card"));

TEST(Capture, OfThisMachineCanBeDescribed) {
  const CapturedMachine folder;
  captureMachine("/", {}, folder.root());
  const std::string text = describe(folder.root(), false);
  EXPECT_EQ(writeTopology(parseTopology(text, "replayed")), text);
}

TEST(Capture, DoesNotOverwrite) {
  CapturedMachine folder;
  folder.write("notes", "mine");
  EXPECT_THROW(captureMachine("/", {}, folder.root()), Error);
  EXPECT_THROW(captureMachine("/", {}, folder.root() / "notes"), Error);
}

}  // namespace
}  // namespace xylem::topology
