// Virtual network devices on a captured machine with a card of two ports (mlx5_0, mlx5_1), a second card
// below the same switch (mlx5_2) and a third below the CPU (mlx5_3).
#include "planner/topology/merge_nics.h"

#include <gmock/gmock.h>

#include "planner/topology/complete.h"
#include "planner/topology/detect.h"
#include "planner/topology/machine_recipe.h"
#include "planner/topology/system_builder.h"
#include "planner_support/rules.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Document detectMerged(const MergeOptions& merge, const char* version = "2.26",
                      const std::string& recipe = testing::readMachineFile("dual-port-card", ".txt")) {
  CapturedMachine machine;
  buildMachine(machine, recipe);
  const auto gpus = gpuSourceOf(machine.root());
  DetectOptions options;
  options.root = machine.root();
  options.gpus = gpus.get();
  options.merge = merge;
  options.rules = rules::rulesOf(rules::parseVersion(version).value());
  return detectTopology(options);
}

// "dev name GB/s" of the NETs in node order.
std::vector<std::string> netsOf(const MergeOptions& merge, const char* version = "2.26") {
  const System system =
      buildSystem(completeForJob(detectMerged(merge, version), *testing::rules225()), testing::rules225());
  std::vector<std::string> nets;
  for (const NodeId node : system.nodes(NodeType::kNet)) {
    const Net& net = system.net(node);
    nets.push_back(fmt::format("{} {} {:g}", net.dev, net.name, net.bandwidth));
  }
  return nets;
}

TEST(MergeNics, PortsOfACardBecomeOneDevice) {
  EXPECT_THAT(netsOf({}), ElementsAre("5 mlx5_2 25", "4 mlx5_0+mlx5_1 25", "6 mlx5_3 25"));
}

TEST(MergeNics, TheVirtualDeviceIsACardOfItsOwnBelowTheSwitch) {
  const std::string text = writeTopology(detectMerged({}));
  EXPECT_THAT(text, HasSubstr(R"(
      <pci busid="0000:34:00.1" class="0x020700" vendor="0x15b3" device="0x101b" subsystem_vendor="0x15b3" subsystem_device="0x0007" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0+mlx5_1" dev="4" latency="0.000000" speed="200000" port="1" guid="0x100000003a1420c" maxconn="131072" gdr="0"/>
        </nic>
      </pci>
)"));
  EXPECT_EQ(text.find("0000:34:00.0"), std::string::npos) << "the physical card is not used by itself";
  EXPECT_EQ(text.find("keep"), std::string::npos);
}

TEST(MergeNics, LevelsReachFarther) {
  EXPECT_THAT(netsOf({.level = "LOC"}),
              ElementsAre("4 mlx5_0 12.5", "5 mlx5_1 12.5", "6 mlx5_2 25", "7 mlx5_3 25"));
  EXPECT_THAT(netsOf({.level = "PIX"}), ElementsAre("4 mlx5_0+mlx5_1+mlx5_2 50", "5 mlx5_3 25"));
  EXPECT_THAT(netsOf({.level = "PXB"}), ElementsAre("4 mlx5_0+mlx5_1+mlx5_2 50", "5 mlx5_3 25"));
  EXPECT_THAT(netsOf({.level = "PHB"}), ElementsAre("4 mlx5_0+mlx5_1+mlx5_2+mlx5_3 75"));
  EXPECT_EQ(netsOf({.level = "P2C"}, "2.27"), netsOf({.level = "PXB"}, "2.27"));
  EXPECT_THROW(netsOf({.level = "P2C"}, "2.26"), InputError);
}

TEST(MergeNics, OnlyVirtualDevicesGetNewNumbersSince227) {
  EXPECT_THAT(netsOf({}, "2.27"), ElementsAre("4 mlx5_0+mlx5_1 25", "2 mlx5_2 25", "3 mlx5_3 25"));
  EXPECT_THAT(netsOf({.level = "LOC"}, "2.30"),
              ElementsAre("0 mlx5_0 12.5", "1 mlx5_1 12.5", "2 mlx5_2 25", "3 mlx5_3 25"));
  EXPECT_THAT(netsOf({.force = "mlx5_1,mlx5_3;mlx5_0,mlx5_2"}, "2.30"),
              ElementsAre("5 mlx5_0+mlx5_2 37.5", "4 mlx5_1+mlx5_3 37.5"));
}

// The widest link above a merged NIC, in GB/s, and that of the switch where its members meet.
TEST(MergeNics, MembersOfSeveralCardsHaveTheirWidthTogetherSince228) {
  const auto widths = [](const char* level, const char* version) {
    const std::string text = writeTopology(detectMerged({.level = level}, version));
    std::vector<std::string> found;
    for (std::size_t at = text.find("link_width=\""); at != std::string::npos;
         at = text.find("link_width=\"", at + 1))
      found.push_back(text.substr(at + 12, text.find('"', at + 12) - at - 12));
    return found;
  };
  EXPECT_THAT(widths("PORT", "2.28"), ::testing::Each("16")) << "ports of one card";
  EXPECT_THAT(widths("PIX", "2.27"), ::testing::Each("16"));
  EXPECT_THAT(widths("PIX", "2.28"), ::testing::Contains("32")) << "two cards of 16 lanes";
  EXPECT_THAT(widths("PIX", "2.30"), ::testing::Contains("32"));
}

// As the InfiniBand plugin tells it: one rail if all members name it, and a mask of their planes, whose first bit stands for none.
TEST(MergeNics, MergedDevicesHaveAPlaceInTheNetwork) {
  const auto merged = [](const std::string& hca, const char* version) {
    CapturedMachine machine;
    buildMachine(machine, testing::readMachineFile("dual-port-card", ".txt"));
    const auto gpus = gpuSourceOf(machine.root());
    DetectOptions options;
    options.root = machine.root();
    options.gpus = gpus.get();
    options.merge = MergeOptions{};
    options.rules = rules::rulesOf(rules::parseVersion(version).value());
    options.rdma = {.hca = hca, .namesPlaces = options.rules->rails};
    const std::string text = writeTopology(detectTopology(options));
    const std::size_t at = text.find("mlx5_0+mlx5_1");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_THAT(merged("mlx5_0::2:0,mlx5_1::2:1,mlx5", "2.30"),
              ::testing::AllOf(HasSubstr("rail=\"2\""), HasSubstr("plane=\"16390\"")));
  EXPECT_THAT(merged("mlx5_0::2,mlx5_1::3,mlx5", "2.30"),
              ::testing::AllOf(::testing::Not(HasSubstr("rail")), HasSubstr("plane=\"16385\"")));
  EXPECT_THAT(merged("mlx5_0::2,mlx5_1::2,mlx5", "2.29"), ::testing::Not(HasSubstr("plane")));
}

TEST(MergeNics, OnlyWithinARail) {
  EXPECT_THAT(netsOf({.withinRail = true}, "2.29"),
              ElementsAre("4 mlx5_0+mlx5_1 25", "2 mlx5_2 25", "3 mlx5_3 25"));
  EXPECT_THAT(netsOf({.withinRail = true}, "2.30"),
              ElementsAre("0 mlx5_0 12.5", "1 mlx5_1 12.5", "2 mlx5_2 25", "3 mlx5_3 25"))
      << "devices without a rail";
}

// "dev name" of the NETs of the machine whose ports have these link layers.
std::vector<std::string> netsWithLayers(const std::vector<const char*>& layers, const MergeOptions& merge,
                                        const char* version) {
  std::string recipe = testing::readMachineFile("dual-port-card", ".txt");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::size_t at = recipe.find(" on=", recipe.find(fmt::format("rdma mlx5_{} ", i)));
    recipe.insert(at, fmt::format(" layer={}", layers[i]));
  }
  const auto rules = rules::rulesOf(rules::parseVersion(version).value());
  const System system =
      buildSystem(completeForJob(detectMerged(merge, version, recipe), *rules), testing::rules225());
  std::vector<std::string> nets;
  for (const NodeId node : system.nodes(NodeType::kNet))
    nets.push_back(fmt::format("{} {}", system.net(node).dev, system.net(node).name));
  return nets;
}

TEST(MergeNics, PortsThatCannotBeMergedStayApartSince226) {
  const std::vector<const char*> layers = {"InfiniBand", "Ethernet", "InfiniBand", "InfiniBand"};
  EXPECT_THAT([&] { netsWithLayers(layers, {}, "2.25.1"); },
              ThrowsMessage<InputError>(
                  HasSubstr("mlx5_0+mlx5_1 (InfiniBand and Ethernet do not mix); expected LOC")));
  EXPECT_THAT(netsWithLayers(layers, {}, "2.27"),
              ElementsAre("0 mlx5_0", "1 mlx5_1", "2 mlx5_2", "3 mlx5_3"));
  EXPECT_THAT(netsWithLayers(layers, {.level = "LOC"}, "2.25.1"),
              ElementsAre("4 mlx5_0", "5 mlx5_1", "6 mlx5_2", "7 mlx5_3"));
  // 2.26.2 looks at the second device again, which then is alone, but not at the first one: it keeps its number, and would be
  // left out if its card were not the second one's, too.
  EXPECT_THAT(netsWithLayers(layers, {}, "2.26"),
              ElementsAre("0 mlx5_0", "4 mlx5_1", "5 mlx5_2", "6 mlx5_3"));
}

TEST(MergeNics, MembersOfARefusedGroupLookForOthers) {
  // The first group is mlx5_0+1+2. Then mlx5_1 takes mlx5_2.
  EXPECT_THAT(
      netsWithLayers({"Ethernet", "InfiniBand", "InfiniBand", "InfiniBand"}, {.level = "PIX"}, "2.30"),
      ElementsAre("0 mlx5_0", "4 mlx5_1+mlx5_2", "3 mlx5_3"));
}

TEST(MergeNics, OneVariableForbidsToMerge) {
  EXPECT_THAT(netsOf({.mayMerge = false}, "2.30"),
              ElementsAre("0 mlx5_0 12.5", "1 mlx5_1 12.5", "2 mlx5_2 25", "3 mlx5_3 25"));
  EXPECT_THAT([] { netsOf({.mayMerge = false}, "2.25"); },
              ThrowsMessage<InputError>(HasSubstr("NCCL_IB_MERGE_NICS=0 forbids it")));
  EXPECT_THAT([] { netsOf({.force = "mlx5_2,mlx5_3", .mayMerge = false}, "2.30"); },
              ThrowsMessage<InputError>(HasSubstr("NCCL_NET_FORCE_MERGE: found `mlx5_2,mlx5_3`")));
}

TEST(MergeNics, ForcedGroupsComeFirst) {
  // The card stays because of its other port, and so does the text of the merged one.
  EXPECT_THAT(netsOf({.force = "mlx5_2,mlx5_3"}), ElementsAre("5 mlx5_0+mlx5_1 25", "4 mlx5_2+mlx5_3 50"));
  EXPECT_THAT(netsOf({.force = "mlx5_1,mlx5_3;mlx5_0,mlx5_2"}),
              ElementsAre("5 mlx5_0+mlx5_2 37.5", "4 mlx5_1+mlx5_3 37.5"));
}

TEST(MergeNics, SaysWhatIsWrong) {
  const auto refuses = [](const MergeOptions& merge, const char* message) {
    EXPECT_THAT([&] { detectMerged(merge); }, ThrowsMessage<InputError>(HasSubstr(message)));
  };
  refuses({.level = "NEAR"}, "NCCL_NET_MERGE_LEVEL: found `NEAR`; expected LOC, PORT");
  refuses({.force = "mlx5_7"}, "NCCL_NET_FORCE_MERGE: found `mlx5_7`; expected one of mlx5_0, mlx5_1");
  refuses({.force = "mlx5_1,mlx5_1"}, "twice");
}

TEST(MergeNics, LeavesInterfacesAsTheyAre) {
  CapturedMachine machine;
  buildMachine(machine, testing::readMachineFile("container-with-half-the-gpus", ".txt"));
  const auto gpus = gpuSourceOf(machine.root());
  DetectOptions options;
  options.hostId = "a";
  options.root = machine.root();
  options.gpus = gpus.get();
  options.merge = MergeOptions();
  EXPECT_EQ(writeTopology(detectTopology(options)),
            testing::readMachineFile("container-with-half-the-gpus", ".xml"));
}

}  // namespace
}  // namespace xylem::topology
