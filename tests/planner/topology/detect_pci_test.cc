// The PCI tree: its elements and their attributes.
#include "planner/topology/detect_pci.h"

#include <gtest/gtest.h>

#include "planner/topology/captured_machine.h"
#include "planner/topology/detect.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;
using Files = std::map<std::string, std::string>;

const Files kGen4 = {{"max_link_speed", "16.0 GT/s PCIe"}, {"max_link_width", "16"}};
constexpr const char* kRootPort = "pci0000:00/0000:00:01.0";

Files nicFiles() {
  Files files = {{"class", "0x020000"},          {"vendor", "0x15b3"},           {"device", "0x101b"},
                 {"subsystem_vendor", "0x15b3"}, {"subsystem_device", "0x0007"}, {"numa_node", "1"}};
  files.insert(kGen4.begin(), kGen4.end());
  return files;
}

std::string get(const Document& document, ElementId id, std::string_view name) {
  const std::string* value = document.attribute(id, name);
  return value == nullptr ? "(absent)" : *value;
}

ElementId findPci(const Document& document, std::string_view busId) {
  for (std::size_t i = 0; i < document.size(); ++i)
    if (get(document, static_cast<ElementId>(i), "busid") == busId) return static_cast<ElementId>(i);
  return kNoElement;
}

TEST(DetectPciTest, BusIdsAreToldFromOtherNames) {
  EXPECT_TRUE(isBusId("0000:3b:00.0"));
  EXPECT_FALSE(isBusId("pci0000:3b"));
  EXPECT_FALSE(isBusId("0000:3b:00.00"));
  EXPECT_FALSE(isBusId("0000-3b-00.0"));
  EXPECT_FALSE(isBusId(""));
}

TEST(DetectPciTest, NicOnARootPortHangsOnItsNumaNode) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 2, .coresPerNode = 1});
  const std::string nic = std::string(kRootPort) + "/0000:01:00.0";
  machine.addPci(kRootPort, kGen4);
  machine.addPci(nic, nicFiles());
  machine.addInterface("eth0", 2, nic);
  const Document document = detectTopology({.root = machine.root()});
  const ElementId pci = findPci(document, "0000:01:00.0");
  ASSERT_NE(pci, kNoElement);
  EXPECT_EQ(get(document, document[pci].parent, "numaid"), "1");
  EXPECT_EQ(findPci(document, "0000:00:01.0"), kNoElement) << "a root port is part of the link";
  EXPECT_EQ(get(document, pci, "class"), "0x020000");
  EXPECT_EQ(get(document, pci, "vendor"), "0x15b3");
  EXPECT_EQ(get(document, pci, "link_speed"), "16.0 GT/s PCIe");
  EXPECT_EQ(get(document, pci, "link_width"), "16");
}

TEST(DetectPciTest, SwitchIsOneElementNamedAfterItsUpstreamPort) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 2, .coresPerNode = 1});
  const std::string upstream = std::string(kRootPort) + "/0000:10:00.0";
  Files bridge = {{"class", "0x060400"}, {"vendor", "0x10b5"}, {"device", "0x8747"}, {"numa_node", "1"}};
  bridge.insert(kGen4.begin(), kGen4.end());
  machine.addPci(kRootPort, kGen4);
  machine.addPci(upstream, bridge);
  int bus = 0x12;
  // Detection finds interfaces by index, which is not the order of bus ids.
  for (const char* port : {"0000:11:01.0", "0000:11:00.0"}) {
    const std::string downstream = upstream + "/" + port;
    const std::string nic = downstream + fmt::format("/0000:{:02x}:00.0", bus);
    machine.addPci(downstream, kGen4);
    machine.addPci(nic, nicFiles());
    machine.addInterface(fmt::format("eth{}", bus), 0x20 - bus, nic);
    ++bus;
  }
  const Document document = detectTopology({.root = machine.root()});
  const ElementId element = findPci(document, "0000:10:00.0");
  ASSERT_NE(element, kNoElement);
  EXPECT_EQ(get(document, element, "class"), "0x060400");
  EXPECT_EQ(get(document, document[element].parent, "numaid"), "1");
  ASSERT_EQ(document[element].children.size(), 2u);
  EXPECT_EQ(get(document, document[element].children[0], "busid"), "0000:12:00.0");
  EXPECT_EQ(get(document, document[element].children[1], "busid"), "0000:13:00.0");
}

TEST(DetectPciTest, LinkIsTheSlowerAndNarrowerOfDeviceAndPort) {
  CapturedMachine machine;
  machine.addCpus({});
  const std::string nic = std::string(kRootPort) + "/0000:01:00.0";
  machine.addPci(kRootPort, {{"max_link_speed", "8.0 GT/s PCIe"}, {"max_link_width", "8"}});
  machine.addPci(nic, nicFiles());
  machine.addInterface("eth0", 2, nic);
  const Document document = detectTopology({.root = machine.root()});
  EXPECT_EQ(get(document, findPci(document, "0000:01:00.0"), "link_speed"), "8.0 GT/s PCIe");
  EXPECT_EQ(get(document, findPci(document, "0000:01:00.0"), "link_width"), "8");
}

TEST(DetectPciTest, UnknownSpeedLimitsNothing) {
  CapturedMachine machine;
  machine.addCpus({});
  const std::string nic = std::string(kRootPort) + "/0000:01:00.0";
  machine.addPci(kRootPort, {{"max_link_speed", "Unknown speed"}, {"max_link_width", "63"}});
  machine.addPci(nic, nicFiles());
  machine.addInterface("eth0", 2, nic);
  const Document document = detectTopology({.root = machine.root()});
  EXPECT_EQ(get(document, findPci(document, "0000:01:00.0"), "link_speed"), "16.0 GT/s PCIe");
  EXPECT_EQ(get(document, findPci(document, "0000:01:00.0"), "link_width"), "16");
}

TEST(DetectPciTest, UnknownNumaNodeIsTheOnlyOneWhereThereIsOne) {
  CapturedMachine machine;
  machine.addCpus({});
  Files files = nicFiles();
  files["numa_node"] = "-1";
  machine.addPci("pci0000:00/0000:00:04.0", files);
  machine.addInterface("eth0", 2, "pci0000:00/0000:00:04.0");
  const Document document = detectTopology({.root = machine.root()});
  const ElementId pci = findPci(document, "0000:00:04.0");
  ASSERT_NE(pci, kNoElement);
  EXPECT_EQ(get(document, document[pci].parent, "numaid"), "0");
}

TEST(DetectPciTest, UnknownNumaNodeOfManyIsItsOwnCpu) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 2, .coresPerNode = 1});
  Files files = nicFiles();
  files["numa_node"] = "-1";
  machine.addPci("pci0000:00/0000:00:04.0", files);
  machine.addInterface("eth0", 2, "pci0000:00/0000:00:04.0");
  const Document document = detectTopology({.root = machine.root()});
  const ElementId pci = findPci(document, "0000:00:04.0");
  ASSERT_NE(pci, kNoElement);
  EXPECT_EQ(get(document, document[pci].parent, "numaid"), "-1");
}

TEST(DetectPciTest, UnreadableFilesLeaveDefaults) {
  CapturedMachine machine;
  machine.addCpus({});
  machine.addPci("pci0000:00/0000:00:04.0", {});
  machine.addInterface("eth0", 2, "pci0000:00/0000:00:04.0");
  const Document document = detectTopology({.root = machine.root()});
  const ElementId pci = findPci(document, "0000:00:04.0");
  ASSERT_NE(pci, kNoElement);
  EXPECT_EQ(get(document, pci, "class"), "0x02");
  EXPECT_EQ(get(document, pci, "link_speed"), "");
  EXPECT_EQ(get(document, pci, "vendor"), "(absent)");
}

TEST(DetectPciTest, BroadcomSwitchesTellTheirDirectLanes) {
  CapturedMachine machine;
  machine.addCpus({});
  const std::string upstream = std::string(kRootPort) + "/0000:10:00.0";
  const std::string downstream = upstream + "/0000:11:00.0";
  const std::string nic = downstream + "/0000:12:00.0";
  machine.addPci(kRootPort, kGen4);
  machine.addPci(upstream, {{"class", "0x060400"}, {"vendor", "0x1000"}});
  machine.addPci(downstream, kGen4);
  machine.addPci(nic, nicFiles());
  machine.addPci("pci0000:80/0000:80:00.0", {{"class", "0x060400"}, {"vendor", "0x1000"}});
  machine.addInterface("eth0", 2, nic);
  const std::string links = "sys/kernel/pci_switch_link/virtual_switch_links/0000:10:00.0/";
  machine.write(links + "0000:80:00.0", "");
  machine.write(links + "0000:99:00.0", "");  // not there
  machine.write(links + "uevent", "");
  const Document document = detectTopology({.root = machine.root()});
  const ElementId element = findPci(document, "0000:10:00.0");
  int lanes = 0;
  for (const ElementId child : document[element].children) lanes += document[child].name == "pcilink";
  EXPECT_EQ(lanes, 1);
  EXPECT_EQ(get(document, document.child(element, "pcilink"), "target"), "0000:80:00.0");
}

}  // namespace
}  // namespace xylem::topology
