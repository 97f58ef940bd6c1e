// Captured machines: detection gives each recipe of tests/planner/topology/machines (machine_recipe.h) the
// description that follows from NCCL's rules by hand. A copy of a machine's files (detect_capture.h) gives
// the same description.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

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

// The options by which a job of this version detects RDMA devices.
void askAsIn(const char* version, DetectOptions& options) {
  options.rules = rules::rulesOf(rules::parseVersion(version).value());
  const rules::DataDirect direct = options.rules->dataDirect;
  options.rdma.dataDirect = direct == rules::DataDirect::kNever ? 0 : 1;
  options.rdma.directNeedsDmaBuf = direct == rules::DataDirect::kWithDmaBuf;
  options.rdma.asksSpeed = options.rules->asksPortSpeeds;
}

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
  const auto rdma = rdmaFactsOf(machine.root());
  options.rdma.facts = rdma.get();
  askAsIn("2.30", options);
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
                                           "container-with-half-the-gpus", "dual-port-card", "direct-nic"));

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

// The lines of the description with one of these texts, without the blanks before them.
std::vector<std::string> linesWith(const Document& document, std::initializer_list<const char*> texts) {
  std::vector<std::string> found;
  std::istringstream lines(writeTopology(document));
  for (std::string line; std::getline(lines, line);)
    if (std::any_of(texts.begin(), texts.end(),
                    [&](const char* text) { return line.find(text) != std::string::npos; }))
      found.push_back(line.substr(line.find_first_not_of(' ')));
  return found;
}

// "name speed, below the PCI device" of each network device.
std::vector<std::string> placedNets(const Document& document) {
  std::vector<std::string> found;
  const System system = buildSystem(completeForJob(document, *testing::rules225()), testing::rules225());
  for (const NodeId net : system.nodes(NodeType::kNet)) {
    const ElementId nic = document[system[net].element].parent;
    found.push_back(fmt::format("{} {:g} {}", system.net(net).name, system.net(net).bandwidth,
                                *document.attribute(document[nic].parent, "busid")));
  }
  return found;
}

TEST(Replay, ADataDirectDeviceStandsForItsCardSince227) {
  const auto nets = [](const char* version, auto change) {
    return placedNets(replay("direct-nic", [&](CapturedMachine& machine, DetectOptions& options) {
                        askAsIn(version, options);
                        options.rdma.asksSpeed = false;
                        change(machine, options);
                      }).document);
  };
  const auto asItIs = [](auto&, auto&) {};
  const auto normal = ElementsAre("mlx5_0 100 0000:11:00.0", "mlx5_1 50 0000:33:00.0");
  const auto direct = ElementsAre("mlx5_0_dma 100 0000:23:00.0", "mlx5_1 50 0000:33:00.0");
  EXPECT_THAT(nets("2.26", asItIs), normal);
  EXPECT_THAT(nets("2.27", asItIs), direct);
  EXPECT_THAT(nets("2.30", asItIs), direct);
  EXPECT_THAT(nets("2.30", [](auto&, auto& options) { options.rdma.dataDirect = 0; }), normal);
  EXPECT_THAT(
      nets("2.30", [](auto&, auto& options) { options.rdma.dataDirect = 2; }),
      ElementsAre("mlx5_0 100 0000:11:00.0", "mlx5_0_dma 100 0000:23:00.0", "mlx5_1 50 0000:33:00.0"));
  EXPECT_THAT(nets("2.30", [](auto&, auto& options) { options.rdma.hca = "=mlx5_0"; }),
              ElementsAre("mlx5_0_dma 100 0000:23:00.0"))
      << "the list names cards";
}

TEST(Replay, ADataDirectDeviceNeedsDmaBufSince228) {
  const auto first = [](const char* version) {
    return placedNets(replay("direct-nic",
                             [&](CapturedMachine& machine, DetectOptions& options) {
                               askAsIn(version, options);
                               machine.write(kCapturedRdmaFile,
                                             "rdma name=mlx5_0 direct=0000:23:00.0 dmabuf=0");
                             })
                          .document)
        .front();
  };
  EXPECT_EQ(first("2.27"), "mlx5_0_dma 100 0000:23:00.0");
  EXPECT_EQ(first("2.28"), "mlx5_0 100 0000:11:00.0");
}

TEST(Replay, TheLibraryTellsTheSpeedOfAPortSince230) {
  const auto speeds = [](const char* version, bool asks) {
    return placedNets(replay("direct-nic", [&](CapturedMachine&, DetectOptions& options) {
                        askAsIn(version, options);
                        options.rdma.asksSpeed = options.rdma.asksSpeed && asks;
                      }).document);
  };
  EXPECT_EQ(speeds("2.29", true).front(), "mlx5_0_dma 100 0000:23:00.0");
  EXPECT_EQ(speeds("2.30", true).front(), "mlx5_0_dma 50 0000:23:00.0");
  EXPECT_EQ(speeds("2.30", false).front(), "mlx5_0_dma 100 0000:23:00.0") << "NCCL_IB_QUERY_PORT_SPEED=0";
}

TEST(Replay, AGpusPciLinkIsTheOneThatRunsSince230) {
  const auto gpus = [](const char* version, const char* link) {
    return linesWith(replay("direct-nic",
                            [&](CapturedMachine& machine, DetectOptions& options) {
                              askAsIn(version, options);
                              machine.write(kCapturedGpusFile,
                                            fmt::format("gpu dev=0 busid=0000:34:00.0 sm=103\n"
                                                        "pci id=10de:3182:10de:0009 {}",
                                                        link));
                            })
                         .document,
                     {"0000:34:00.0"})
        .front();
  };
  constexpr const char* kBefore =
      R"(<pci busid="0000:34:00.0" class="0x030200" vendor="0x10de" device="0x3182" subsystem_vendor="0x10de" )"
      R"(subsystem_device="0x20e6" link_speed="64.0 GT/s PCIe" link_width="16">)";
  EXPECT_EQ(gpus("2.29", "generation=1 width=8"), kBefore);
  constexpr const char* kIds =
      R"(<pci busid="0000:34:00.0" class="0x030200" vendor="0x10de" device="0x3182" subsystem_vendor="0x10de" )"
      R"(subsystem_device="0x9" )";
  EXPECT_EQ(gpus("2.30", "generation=1 width=8"),
            std::string(kIds) + R"(link_speed="2.5 GT/s PCIe" link_width="8">)");
  EXPECT_EQ(gpus("2.30", "generation=0 width=0"),
            std::string(kIds) + R"(link_speed="16.0 GT/s" link_width="16">)")
      << "NVML does not tell";
  EXPECT_EQ(gpus("2.30", "generation=7 width=16"), std::string(kIds) + R"(link_width="16">)");
}

TEST(Replay, SaysThatNcclHasNoTextForAGeneration) {
  const Replay newer = replay("direct-nic", [&](CapturedMachine& machine, DetectOptions&) {
    machine.write(kCapturedGpusFile,
                  "gpu dev=0 busid=0000:34:00.0 sm=103\npci id=10de:3182:10de:0009 generation=7 width=16");
  });
  EXPECT_THAT(newer.remarks, ElementsAre(HasSubstr("GPU 0 is on PCI Express of generation 7")));
}

TEST(Replay, NvlinksWhoseEndIsHiddenLeadToASwitchSince230) {
  const auto links = [](const char* version) {
    const auto asked = [&](CapturedMachine&, DetectOptions& options) { askAsIn(version, options); };
    return linesWith(replay("direct-nic", asked).document, {"<nvlink"}).front();
  };
  EXPECT_EQ(links("2.29"), R"(<nvlink target="" count="18" tclass="0x068000"/>)");
  EXPECT_EQ(links("2.30"), R"(<nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>)");
}

TEST(Replay, OtherEndsWithoutAClassLeadToASwitchSince230) {
  const auto link = [](const char* version, std::vector<std::string>& remarks) {
    const Replay hidden = replay("direct-nic", [&](CapturedMachine& machine, DetectOptions& options) {
      askAsIn(version, options);
      std::filesystem::remove(machine.root() / "sys/bus/pci/devices/0000:33:00.0/class");
      machine.write(kCapturedGpusFile,
                    "gpu dev=0 busid=0000:34:00.0 sm=103\nnvlink target=0000:33:00.0 count=18");
    });
    remarks = hidden.remarks;
    return linesWith(hidden.document, {"<nvlink"}).front();
  };
  std::vector<std::string> remarks;
  EXPECT_EQ(link("2.29", remarks), R"(<nvlink target="0000:33:00.0" count="18"/>)");
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("the class of 0000:33:00.0, at the other end of an NVLink")));
  EXPECT_EQ(link("2.30", remarks), R"(<nvlink target="0000:33:00.0" count="18" tclass="0x068000"/>)");
  EXPECT_THAT(remarks, IsEmpty());
}

std::string describe(const std::filesystem::path& root, bool gpus) {
  const auto source = gpuSourceOf(root);
  const auto rdma = rdmaFactsOf(root);
  DetectOptions options;
  options.root = root;
  options.rdma.facts = rdma.get();
  askAsIn("2.30", options);
  if (gpus) options.gpus = source.get();
  return writeTopology(detectTopology(options));
}

class CaptureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CaptureTest, ReplaysAsTheMachineItself) {
  CapturedMachine machine;
  buildMachine(machine, testing::readMachineFile(GetParam(), ".txt"));
  machine.write("proc/sys/kernel/hostname", "node7");
  const CapturedMachine folder;
  captureMachine(machine.root(), gpuSourceOf(machine.root())->read().gpus,
                 rdmaFactsOf(machine.root())->read(), folder.root());
  for (const bool gpus : {true, false})
    EXPECT_EQ(describe(folder.root(), gpus), describe(machine.root(), gpus));
}

INSTANTIATE_TEST_SUITE_P(Machines, CaptureTest,
                         ::testing::Values("two-sockets-with-switches", "virtual-machine-with-vfs",
                                           "card-without-numa-node", "missing-link-speeds", "grace-hopper",
                                           "container-with-half-the-gpus", "dual-port-card", "direct-nic"));

TEST(Capture, OfThisMachineCanBeDescribed) {
  const CapturedMachine folder;
  captureMachine("/", {}, {}, folder.root());
  const std::string text = describe(folder.root(), false);
  EXPECT_EQ(writeTopology(parseTopology(text, "replayed")), text);
}

TEST(Capture, DoesNotOverwrite) {
  CapturedMachine folder;
  folder.write("notes", "mine");
  EXPECT_THROW(captureMachine("/", {}, {}, folder.root()), Error);
  EXPECT_THROW(captureMachine("/", {}, {}, folder.root() / "notes"), Error);
}

}  // namespace
}  // namespace xylem::topology
