// Descriptions of whole machines: small ones made for the test, and the one that runs the test.
#include "planner/topology/detect.h"

#include <gtest/gtest.h>

#include <set>

#include "planner/topology/captured_machine.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"
#include "planner_support/rules.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;

std::vector<ElementId> all(const Document& document, std::string_view name) {
  std::vector<ElementId> found;
  std::vector<ElementId> open = {document.root()};
  while (!open.empty()) {
    const ElementId id = open.back();
    open.pop_back();
    if (document[id].name == name) found.push_back(id);
    open.insert(open.end(), document[id].children.rbegin(), document[id].children.rend());
  }
  return found;
}

std::string attributeOf(const Document& document, ElementId id, std::string_view name) {
  const std::string* value = document.attribute(id, name);
  return value == nullptr ? "(absent)" : *value;
}

TEST(DetectTest, LiveMachineGivesADocumentThatReadsBack) {
  const Document document = detectTopology();
  EXPECT_GE(all(document, "cpu").size(), 1u);
  EXPECT_GE(all(document, "gpu").size(), 1u);
  const std::string text = writeTopology(document);
  EXPECT_EQ(writeTopology(parseTopology(text, "live")), text);
}

TEST(DetectTest, SameMachineGivesTheSameText) {
  EXPECT_EQ(writeTopology(detectTopology()), writeTopology(detectTopology()));
}

TEST(DetectTest, GivesAsManyHostDevicesAsAskedFor) {
  const std::size_t cores = all(detectTopology(), "gpu").size();
  for (const int wanted : {1, 37, 300}) {
    const Document document = detectTopology({.hostDevices = wanted});
    EXPECT_EQ(all(document, "gpu").size(), std::max<std::size_t>(cores, static_cast<std::size_t>(wanted)));
    std::set<std::string> busIds;
    for (const ElementId pci : all(document, "pci")) busIds.insert(attributeOf(document, pci, "busid"));
    EXPECT_EQ(busIds.size(), all(document, "pci").size()) << "bus ids must be unique";
  }
}

TEST(DetectTest, RefusesAnImpossibleNumberOfHostDevices) {
  EXPECT_THROW(detectTopology({.hostDevices = -1}), InputError);
  EXPECT_THROW(detectTopology({.hostDevices = kMaxHostDevices + 1}), InputError);
}

TEST(DetectTest, MachineWithNothingReadableStillHasACpuAndADevice) {
  const CapturedMachine machine;
  const Document document = detectTopology({.root = machine.root()});
  EXPECT_GE(all(document, "cpu").size(), 1u);
  EXPECT_GE(all(document, "gpu").size(), 1u);
  EXPECT_TRUE(all(document, "net").empty());
}

TEST(DetectTest, HostDevicesFollowTheirCores) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 2, .coresPerNode = 3, .threadsPerCore = 2});
  const Document document = detectTopology({.root = machine.root()});
  ASSERT_EQ(all(document, "cpu").size(), 2u);
  ASSERT_EQ(all(document, "gpu").size(), 6u) << "one per core, not per thread";
  for (const ElementId gpu : all(document, "gpu")) {
    const int dev = std::stoi(attributeOf(document, gpu, "dev"));
    const ElementId cpu = document[document[gpu].parent].parent;
    EXPECT_EQ(attributeOf(document, cpu, "numaid"), std::to_string(dev / 3));
    EXPECT_EQ(attributeOf(document, gpu, "host"), "1");
    EXPECT_EQ(attributeOf(document, gpu, "rank"), "(absent)") << "ranks belong to a job, not to a machine";
    EXPECT_NE(document.child(gpu, "c2c"), kNoElement);
  }
}

TEST(DetectTest, EngineSeesHostDevicesOnTheirMemoryLink) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 2, .coresPerNode = 2});
  machine.addInterface("eth0", 2);
  const System system = buildSystem(
      completeForJob(detectTopology({.root = machine.root()}), *testing::rules225()), testing::rules225());
  ASSERT_EQ(system.count(NodeType::kGpu), 4);
  EXPECT_EQ(system.count(NodeType::kNet), 1);
  for (const NodeId gpu : system.nodes(NodeType::kGpu)) {
    EXPECT_TRUE(system.gpu(gpu).hostDevice);
    const NodeId cpu = system.links(gpu).front().to;
    EXPECT_EQ(system.position(cpu), system.gpu(gpu).rank / 2);
    const Link& memory = system.link(system.findLink(gpu, cpu, LinkType::kNvl));
    const Link& madeUp = system.link(system.findLink(gpu, cpu, LinkType::kPci));
    // The path search keeps the wider of two links to a neighbour.
    EXPECT_GT(memory.bandwidth, madeUp.bandwidth);
  }
}

TEST(DetectTest, MoreDevicesThanCoresSpreadInBlocks) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 2, .coresPerNode = 2});
  const Document document = detectTopology({.hostDevices = 10, .root = machine.root()});
  std::map<std::string, int> perNode;
  for (const ElementId gpu : all(document, "gpu"))
    ++perNode[attributeOf(document, document[document[gpu].parent].parent, "numaid")];
  EXPECT_EQ(perNode["0"], 5);
  EXPECT_EQ(perNode["1"], 5);
}

TEST(DetectTest, CpuElementCarriesTheKernelsMaskAndNcclsFamily) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 1, .coresPerNode = 4});
  machine.write("sys/devices/system/node/node0/cpumap", "00000000,0000000f");
  machine.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49");
  machine.write("proc/sys/kernel/hostname", "node7");
  const Document document = detectTopology({.root = machine.root()});
  const ElementId cpu = all(document, "cpu").at(0);
  EXPECT_EQ(attributeOf(document, cpu, "affinity"), "00000000,0000000f");
  EXPECT_EQ(attributeOf(document, cpu, "arch"), "x86_64");
  EXPECT_EQ(attributeOf(document, cpu, "vendor"), "AuthenticAMD");
  // 15 + 16 * 8: CPUID's extended family counts sixteenfold.
  EXPECT_EQ(attributeOf(document, cpu, "familyid"), "143");
  EXPECT_EQ(attributeOf(document, cpu, "modelid"), "49");
}

TEST(DetectTest, BlanksOfAMakersNameArePartOfIt) {
  CapturedMachine machine;
  machine.addCpus({});
  machine.write("proc/cpuinfo", "vendor_id\t:   Shanghai  \ncpu family\t: 7\nmodel\t\t: 91");
  const Document document = detectTopology({.root = machine.root()});
  EXPECT_EQ(attributeOf(document, all(document, "cpu").at(0), "vendor"), "  Shanghai  ");
  const System system = buildSystem(completeForJob(document, *testing::rules225()), testing::rules225());
  EXPECT_EQ(system.cpu(system.nodes(NodeType::kCpu).front()).model, kCpuModelYongfeng);
}

TEST(DetectTest, HostHashComesFromTheNameAndBootIdOrFromTheGivenId) {
  CapturedMachine machine;
  machine.write("proc/sys/kernel/hostname", "node7");
  machine.write("proc/sys/kernel/random/boot_id", "1-2-3");
  const auto hash = [&](const std::string& id) {
    const Document document = detectTopology({.hostId = id, .root = machine.root()});
    return attributeOf(document, all(document, "cpu").at(0), "host_hash");
  };
  const std::string first = hash("");
  EXPECT_EQ(first.substr(0, 2), "0x");
  EXPECT_EQ(hash(""), first);
  machine.write("proc/sys/kernel/random/boot_id", "1-2-4");
  EXPECT_NE(hash(""), first) << "another boot is another host";
  const std::string named = hash("blue");
  machine.write("proc/sys/kernel/hostname", "node8");
  EXPECT_EQ(hash("blue"), named);
  // By hand: 5381 * 33 ^ 'a'.
  EXPECT_EQ(hash("a"), "0x2b5c4");
}

}  // namespace
}  // namespace xylem::topology
