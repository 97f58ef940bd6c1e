// The choice, order and attributes of nets made of interfaces.
#include "planner/topology/detect_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/topology/captured_machine.h"
#include "planner/topology/detect.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const std::vector<NetInterface>& interfaces) {
  std::vector<std::string> result;
  for (const NetInterface& interface : interfaces) result.push_back(interface.name);
  return result;
}

std::vector<NetInterface> make(std::initializer_list<const char*> list) {
  std::vector<NetInterface> interfaces;
  for (const char* name : list)
    interfaces.push_back({.name = name, .loopback = std::string_view(name) == "lo"});
  return interfaces;
}

TEST(DetectNetTest, DefaultChoiceLeavesOutLoopbackAndContainerPlumbing) {
  EXPECT_THAT(names(chooseInterfaces(make({"lo", "eth0", "docker0", "veth12", "ens5"}), "")),
              ElementsAre("eth0", "ens5"));
}

TEST(DetectNetTest, InfinibandInterfacesComeAlone) {
  EXPECT_THAT(names(chooseInterfaces(make({"lo", "eth0", "ib0", "ib1"}), "")), ElementsAre("ib0", "ib1"));
}

TEST(DetectNetTest, PlumbingBeatsLoopbackAndLoopbackBeatsNothing) {
  EXPECT_THAT(names(chooseInterfaces(make({"lo", "docker0"}), "")), ElementsAre("docker0"));
  EXPECT_THAT(names(chooseInterfaces(make({"lo"}), "")), ElementsAre("lo"));
}

TEST(DetectNetTest, FilterTakesPrefixesExactNamesAndExclusions) {
  const auto interfaces = make({"lo", "eth0", "eth1", "eth10", "docker0"});
  EXPECT_THAT(names(chooseInterfaces(interfaces, "eth1")), ElementsAre("eth1", "eth10"));
  EXPECT_THAT(names(chooseInterfaces(interfaces, "=eth1")), ElementsAre("eth1"));
  EXPECT_THAT(names(chooseInterfaces(interfaces, "^eth,lo")), ElementsAre("docker0"));
  EXPECT_THAT(names(chooseInterfaces(interfaces, "^=eth1,lo")), ElementsAre("eth0", "eth10", "docker0"));
  EXPECT_THAT(names(chooseInterfaces(interfaces, "=eth0:4000,lo")), ElementsAre("lo", "eth0"));
  EXPECT_THAT(names(chooseInterfaces(interfaces, "ib")), IsEmpty());
}

TEST(DetectNetTest, OnlyInterfacesThatAreUpCount) {
  CapturedMachine machine;
  machine.addInterface("lo", 1);
  machine.addInterface("eth1", 3);
  machine.addInterface("eth0", 2);
  machine.addInterface("eth2", 4);
  machine.write("sys/devices/virtual/net/eth1/operstate", "down");
  machine.write("sys/devices/virtual/net/eth2/flags", "0x1002");
  EXPECT_THAT(names(readInterfaces(machine.root())), ElementsAre("lo", "eth0"));
}

TEST(DetectNetTest, PortsOfABondAreLeftToTheBond) {
  CapturedMachine machine;
  for (const char* port : {"eth0", "eth1"}) {
    machine.addInterface(port, 2);
    std::filesystem::create_directory_symlink("../bond0",
                                              machine.root() / "sys/devices/virtual/net" / port / "master");
  }
  machine.addInterface("bond0", 5);
  machine.write("sys/devices/virtual/net/bond0/speed", "200000");
  const auto interfaces = readInterfaces(machine.root());
  ASSERT_THAT(names(interfaces), ElementsAre("bond0"));
  EXPECT_EQ(interfaces[0].speed, 200000);
}

TEST(DetectNetTest, SpeedNobodyTellsIsTenGigabits) {
  CapturedMachine machine;
  machine.addInterface("eth0", 1);
  machine.addInterface("eth1", 2);
  machine.addInterface("eth2", 3);
  machine.write("sys/devices/virtual/net/eth1/speed", "-1");
  machine.write("sys/devices/virtual/net/eth2/speed", "100000");
  const auto interfaces = readInterfaces(machine.root());
  ASSERT_EQ(interfaces.size(), 3u);
  EXPECT_EQ(interfaces[0].speed, 10000);
  EXPECT_EQ(interfaces[1].speed, 10000);
  EXPECT_EQ(interfaces[2].speed, 100000);
}

TEST(DetectNetTest, VirtualInterfacesShareANicUnderTheFirstCpu) {
  CapturedMachine machine;
  machine.addCpus({.nodes = 2, .coresPerNode = 1});
  machine.addInterface("eth0", 2);
  // A virtio device sits on a bus of its own: virtual to NCCL as well.
  machine.addInterface("eth1", 3, "pci0000:00/0000:00:02.0/virtio1");
  const Document document = detectTopology({.root = machine.root()});
  const ElementId cpu = document.child(document.root(), "cpu");
  const ElementId nic = document.child(cpu, "nic");
  ASSERT_NE(nic, kNoElement);
  ASSERT_EQ(document[nic].children.size(), 2u);
  const ElementId net = document[nic].children[1];
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(document[net].attributes, (Attributes{{"name", "eth1"},
                                                  {"dev", "1"},
                                                  {"latency", "0.000000"},
                                                  {"speed", "10000"},
                                                  {"port", "0"},
                                                  {"guid", "0x1"},
                                                  {"maxconn", "65536"},
                                                  {"gdr", "0"}}));
}

TEST(DetectNetTest, InterfacesOptionSelects) {
  CapturedMachine machine;
  machine.addInterface("eth0", 2);
  machine.addInterface("eth1", 3);
  const Document document = detectTopology({.interfaces = "=eth1", .root = machine.root()});
  const ElementId nic = document.child(document.child(document.root(), "cpu"), "nic");
  ASSERT_EQ(document[nic].children.size(), 1u);
  EXPECT_EQ(*document.attribute(document[nic].children[0], "name"), "eth1");
}

}  // namespace
}  // namespace xylem::topology
