// Topology files of virtual machines: what maps may say, what is copied from the host, and that NCCL plans
// the same for the virtual machine as for the host with these devices alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "fuzz/replay.h"
#include "fuzz/vm_map_input.h"
#include "insight/lint/lint.h"
#include "insight/vm/cloud.h"
#include "insight/vm/vm_topology.h"
#include "planner/plan/planner.h"
#include "planner/topology/attributes.h"
#include "planner/topology/complete.h"
#include "planner_support/any_machine.h"

namespace xylem::vm {
namespace {

using namespace testing;  // NOLINT: the machines
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kZoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";

// The bus id of a switch.
std::string switchOf(const topology::Document& host) {
  for (const topology::ElementId cpu : host[host.root()].children)
    for (const topology::ElementId pci : host[cpu].children)
      if (host[pci].name == "pci" && host.child(pci, "pci") != topology::kNoElement)
        return *host.attribute(pci, "busid");
  return "";
}

std::string refusal(const std::string& map, const topology::Document* host = nullptr) {
  try {
    const VmMap read = parseVmMap(map, "vm.map");
    if (host != nullptr) vmTopology(*host, read);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(VmMap, HasDevicesNamesAndNumaNodes) {
  const VmMap map = parseVmMap(
      "# a comment\n\n0000:1B:00.0 0000:05:00.0  # behind\nmlx5_0=0000:06:00.0\nmlx5_1 0000:07:00.0 "
      "mlx5_9\r\n"
      "numa1 numa0 0000ffff\nnuma0=1\n",
      "vm.map");
  ASSERT_EQ(map.devices.size(), 3u);
  EXPECT_EQ(map.devices[0].host, "0000:1B:00.0");
  EXPECT_EQ(map.devices[0].busId, 0x5000u);
  EXPECT_EQ(map.devices[0].line, 3);
  EXPECT_EQ(map.devices[1].host, "mlx5_0");
  EXPECT_EQ(map.devices[2].name, "mlx5_9");
  ASSERT_EQ(map.numas.size(), 2u);
  EXPECT_EQ(map.numas[0].inside, 0);
  EXPECT_EQ(map.numas[0].affinity, "0000ffff");
  EXPECT_EQ(map.numas[1].inside, 1);
}

TEST(VmMap, RefusesWithTheLine) {
  EXPECT_THAT(refusal(""), HasSubstr("vm.map: found no device"));
  EXPECT_THAT(refusal("gpu0\n"), HasSubstr("vm.map:1: found 1 words"));
  EXPECT_THAT(refusal("\ngpu0 here\n"), HasSubstr("vm.map:2: found `here`"));
  EXPECT_THAT(refusal("gpu0 0000:05:00.0\ngpu1 0000:05:00.0\n"),
              HasSubstr("vm.map:2: found 0000:05:00.0 again"));
  EXPECT_THAT(refusal("gpu0 0000:05:00.0\ngpu0 0000:06:00.0\n"), HasSubstr("vm.map:2: found gpu0 again"));
  EXPECT_THAT(refusal("mlx5_0 0000:05:00.0 net0\nmlx5_1 0000:06:00.0 net0\n"),
              HasSubstr("vm.map:2: found the name net0 again, after line 1"));
  EXPECT_THAT(refusal("gpu0 0000:05:00.0\nnuma0 numaX\n"), HasSubstr("vm.map:2: found `numaX`"));
}

TEST(VmMap, EveryInputIsReadOrRefused) {
  const Replayed replayed = replayCorpus("vm_map", feedVmMap);
  EXPECT_GE(replayed.accepted, 2);
  EXPECT_GE(replayed.refused, 3);
}

// The zoo's DGX H100 has a device id of A100s.
TEST(VmCloud, IsRecognizedByDevicesAndComputeCapability) {
  const std::string zoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";
  const CloudInstance* const azure =
      cloudInstanceOf(topology::readTopology(zoo + "misconfigured/vm-flat.xml"));
  ASSERT_NE(azure, nullptr);
  EXPECT_STREQ(azure->name, "Azure ND H100 v5");
  EXPECT_EQ(cloudInstanceOf(topology::readTopology(zoo + "dgxh100.xml")), nullptr);
}

TEST(VmTopology, NamesWhatTheHostHas) {
  const topology::Document host = topology::readTopology(kZoo + "seed-a40x2.xml");
  EXPECT_THAT(refusal("gpu0 0000:05:00.0\nmlx5_9 0000:06:00.0\n", &host),
              ::testing::AllOf(HasSubstr("vm.map:2: found `mlx5_9`"), HasSubstr("gpu0, gpu1")));
  EXPECT_THAT(refusal("0000:45:00.0 0000:06:00.0\n", &host), HasSubstr("no GPU among the devices"));
  EXPECT_THAT(refusal("gpu0 0000:05:00.0\n0000:99:00.0 0000:06:00.0\n", &host),
              HasSubstr("which line 1 has already"));
  const topology::Document large = topology::readTopology(kZoo + "dgxh100.xml");
  EXPECT_THAT(refusal("gpu0 0000:05:00.0\n" + switchOf(large) + " 0000:06:00.0\n", &large),
              HasSubstr("which is neither a GPU nor a network device"));
}

TEST(VmTopology, KeepsTheTreeOfWhatTheGuestHas) {
  const topology::Document host = topology::readTopology(kZoo + "dgxh100.xml");
  std::vector<std::string> remarks;
  const topology::Document vm =
      vmTopology(host,
                 parseVmMap("gpu2 0000:07:00.0\ngpu1 0000:05:00.0\nmlx5_1 0000:06:00.0 mlx5_0\n"
                            "numa0 numa0 ff\n",
                            "vm.map"),
                 &remarks);
  EXPECT_THAT(remarks, IsEmpty());
  const std::string text = topology::writeTopology(vm);
  EXPECT_THAT(text, HasSubstr("busid=\"ffff:ff:00.0\""));
  EXPECT_THAT(text, HasSubstr("name=\"mlx5_0\""));
  EXPECT_THAT(text, HasSubstr("affinity=\"ff\""));
  // The driver numbers by bus id: gpu1 of the host, which is at 05, comes first.
  EXPECT_THAT(text, HasSubstr("dev=\"0\""));
  EXPECT_THAT(text, HasSubstr("dev=\"1\""));
  const lint::LintReport report = lint::lintTopology(text, "guest");
  EXPECT_EQ(report.count(lint::Severity::kError) + report.count(lint::Severity::kWarning), 0)
      << lint::toJson(report);
  const topology::System system = topology::buildSystem(
      topology::completeForJob(topology::parseTopology(text, "guest"), *testing::rules225()),
      testing::rules225());
  EXPECT_EQ(system.count(topology::NodeType::kGpu), 2);
  EXPECT_EQ(system.count(topology::NodeType::kNet), 1);
}

TEST(VmTopology, SaysWhichCardsKeepTheirNames) {
  const topology::Document host = topology::readTopology(kZoo + "dgxh100.xml");
  std::vector<std::string> remarks;
  vmTopology(host, parseVmMap("gpu0 0000:05:00.0\nmlx5_0 0000:06:00.0\n", "vm.map"), &remarks);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("net mlx5_0 keeps its name")));
}

TEST(VmTopology, SaysWhichLinesOfTheMapDoNothing) {
  const topology::Document host = topology::readTopology(kZoo + "seed-a40x2.xml");
  std::vector<std::string> remarks;
  vmTopology(host, parseVmMap("gpu0 0000:05:00.0\nnuma0 numa1\nnuma1 numa0\n", "vm.map"), &remarks);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("is on NUMA node 0 of the host: vm.map:2 is not used")));
}

TEST(VmTopology, RewritesNvlinksAndLosesThoseToOtherGpus) {
  const topology::Document host = topology::parseTopology(fourGpusMesh(), "host.xml");
  const topology::Document vm =
      vmTopology(host, parseVmMap("gpu0 0000:01:00.0\ngpu3 0000:02:00.0\n", "vm.map"));
  const std::string text = topology::writeTopology(vm);
  EXPECT_THAT(text, HasSubstr("<nvlink target=\"0000:02:00.0\" count=\"4\""));
  EXPECT_THAT(text, HasSubstr("<nvlink target=\"0000:01:00.0\" count=\"4\""));
  EXPECT_EQ(text.find("count=\"1\""), std::string::npos) << text;
}

// The host, described for some of its devices alone: ranks and GPUs in the order of `gpus`, and network
// devices numbered without gaps, since NCCL settles ties by these numbers.
topology::Document restricted(const topology::Document& host, const std::vector<topology::ElementId>& gpus,
                              const std::vector<topology::ElementId>& nics) {
  topology::Document document = topology::completeAttributes(host);
  const auto clear = [&](const auto& self, topology::ElementId element) -> void {
    document.removeAttribute(element, "keep");
    document.removeAttribute(element, "rank");
    for (const topology::ElementId child : document[element].children) self(self, child);
  };
  clear(clear, document.root());
  int rank = 0;
  for (const topology::ElementId gpu : gpus) {
    document.set(gpu, "dev", std::to_string(rank));
    document.set(gpu, "rank", std::to_string(rank++));
    document.set(gpu, "keep", "1");
  }
  const auto mark = [&](const auto& self, topology::ElementId element) -> void {
    if (document[element].name == "net")
      document.set(element, "keep",
                   std::find(nics.begin(), nics.end(), document[element].parent) != nics.end() ? "1" : "0");
    for (const topology::ElementId child : document[element].children) self(self, child);
  };
  mark(mark, document.root());
  std::map<int, topology::ElementId> nets;
  for (const topology::ElementId nic : nics)
    for (const topology::ElementId net : document[nic].children)
      if (document.attribute(net, "dev") != nullptr) nets[std::stoi(*document.attribute(net, "dev"))] = net;
  int next = 0;
  for (const auto& [dev, net] : nets) document.set(net, "dev", std::to_string(next++));
  return document;
}

// A plan without the names of devices.
std::string planText(const topology::Document& document, int hosts) {
  std::string text;
  try {
    const plan::Plan plan = plan::planJob(plan::identicalHosts(document, hosts), Settings());
    text = fmt::format("{} channels\n", plan.connections.nChannels());
    for (const search::GraphKind kind : {search::GraphKind::kRing, search::GraphKind::kTree}) {
      const search::ChannelGraph& graph = plan.hostOf(0).graphs[kind];
      text += fmt::format("{} {} {} {} {} {}\n", search::name(kind), graph.nChannels, graph.bwIntra,
                          graph.bwInter, paths::name(graph.typeIntra), paths::name(graph.typeInter));
      for (const int gpu : graph.gpus) text += fmt::format(" {}", plan.hostOf(0).system().gpu(gpu).rank);
      for (const int net : graph.nets) text += fmt::format(" {}", net);
    }
  } catch (const Error&) {
    text = "refused";
  }
  return text;
}

// Compares the plans for a virtual machine with some devices of the host, in the order of their bus ids, and
// for the host restricted to them.
void expectTheSamePlan(const topology::Document& host, const std::vector<bool>& wanted, int hosts) {
  std::vector<topology::ElementId> gpus, nics;
  std::string map;
  int next = 1;
  std::size_t place = 0;
  const auto visit = [&](const auto& self, topology::ElementId element) -> void {
    const topology::Element& e = host[element];
    if (e.name == "gpu" || (e.name == "nic" && host[e.parent].name == "pci")) {
      if (wanted[place++ % wanted.size()]) {
        (e.name == "gpu" ? gpus : nics).push_back(element);
        map += fmt::format("{} 0000:{:02x}:00.0\n", *host.attribute(e.parent, "busid"), next++);
      }
    }
    for (const topology::ElementId child : e.children) self(self, child);
  };
  visit(visit, host.root());
  if (gpus.empty()) return;
  const topology::Document vm = vmTopology(host, parseVmMap(map, "vm.map"));
  const std::string text = topology::writeTopology(vm);
  const lint::LintReport report = lint::lintTopology(text, "guest");
  EXPECT_EQ(report.count(lint::Severity::kError), 0) << lint::toJson(report);
  EXPECT_EQ(planText(topology::parseTopology(text, "guest"), hosts),
            planText(restricted(host, gpus, nics), hosts))
      << map << text;
}

TEST(VmTopology, PlansAsTheHostWithTheSameDevices) {
  for (const char* file : {"dgxh100", "dgx1v", "p5-48xl", "a40x8-pcie", "pcilink-bcm", "dgxa100"}) {
    const topology::Document host = topology::readTopology(kZoo + file + ".xml");
    for (const std::vector<bool>& wanted :
         {std::vector<bool>{true}, {true, false}, {false, true, true}, {true, true, false, false, true}}) {
      SCOPED_TRACE(file);
      expectTheSamePlan(host, wanted, 1);
      expectTheSamePlan(host, wanted, 2);
    }
  }
}

TEST(VmTopology, PlansAsAnyHostWithTheSameDevices) {
  EXPECT_TRUE(rc::check([] {
    const topology::Document host = topology::parseTopology(anyMachine(), "host.xml");
    std::vector<bool> wanted = *rc::gen::container<std::vector<bool>>(5, rc::gen::arbitrary<bool>());
    expectTheSamePlan(host, wanted, *rc::gen::inRange(1, 3));
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

}  // namespace
}  // namespace xylem::vm
