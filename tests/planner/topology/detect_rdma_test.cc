// The RDMA devices of a captured machine, as versions of NCCL order and place them.
#include "planner/topology/detect_rdma.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "planner/topology/machine_recipe.h"
#include "planner/topology/select_nets.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;
using ::testing::ElementsAre;

std::vector<std::string> namesOf(const RdmaOptions& options) {
  std::string recipe = testing::readMachineFile("dual-port-card", ".txt");
  // The kernel found the card in slot 36 before that in slot 35.
  const std::size_t third = recipe.find("0000:35:00.0", recipe.find("rdma mlx5_2"));
  const std::size_t fourth = recipe.find("0000:36:00.0", recipe.find("rdma mlx5_3"));
  recipe[third + 6] = '6';
  recipe[fourth + 6] = '5';
  CapturedMachine machine;
  buildMachine(machine, recipe);
  std::vector<std::string> names;
  for (const NetDevice& device : rdmaDevices(machine.root(), options))
    names.push_back(fmt::format("{} {}", device.name, device.port));
  return names;
}

TEST(DetectRdma, CountsByBusIdIfAsked) {
  EXPECT_THAT(namesOf({}), ElementsAre("mlx5_0 1", "mlx5_1 2", "mlx5_2 1", "mlx5_3 1"));
  EXPECT_THAT(namesOf({.byBusId = true}), ElementsAre("mlx5_0 1", "mlx5_1 2", "mlx5_3 1", "mlx5_2 1"));
}

// Before 2.27 each port of a card hung on its own PCI function, and was its only port.
TEST(DetectRdma, PortsShareACardIfAsked) {
  CapturedMachine machine;
  buildMachine(machine, testing::readMachineFile("dual-port-card", ".txt"));
  const auto places = [&](bool shared) {
    std::vector<std::string> found;
    for (const NetDevice& device : rdmaDevices(machine.root(), {.portsShareCard = shared}))
      found.push_back(fmt::format("{} {} {}", device.name, device.port, device.busId));
    return found;
  };
  EXPECT_THAT(places(true), ElementsAre("mlx5_0 1 0000:34:00.0", "mlx5_1 2 0000:34:00.0",
                                        "mlx5_2 1 0000:35:00.0", "mlx5_3 1 0000:36:00.0"));
  EXPECT_THAT(places(false), ElementsAre("mlx5_0 1 0000:34:00.0", "mlx5_1 1 0000:34:00.1",
                                         "mlx5_2 1 0000:35:00.0", "mlx5_3 1 0000:36:00.0"));
}

TEST(DetectRdma, TheListOfDevicesNamesRailsAndPlanes) {
  const auto place = [](const char* list, int port) {
    const NetPlace found = placeOf(list, "mlx5_1", port);
    return std::pair(found.rail, found.plane);
  };
  EXPECT_EQ(place("=mlx5_0:1:4,mlx5_1:1:2:3", 1), std::pair(2, 3));
  EXPECT_EQ(place("mlx5_1::7", 2), std::pair(7, -1)) << "any port";
  EXPECT_EQ(place("mlx5:1:5,mlx5_1:2:6:1", 2), std::pair(6, 1)) << "the first entry that a port matches";
  EXPECT_EQ(place("mlx5_1:::9", 1), std::pair(-1, 9));
  EXPECT_EQ(place("^mlx5_0:1:4", 1), std::pair(-1, -1)) << "entries that exclude name none";
  EXPECT_TRUE(hcaMatches("=mlx5_1:1:2:3", "mlx5_1", 1));
  EXPECT_FALSE(hcaMatches("=mlx5_1:1:2:3", "mlx5_1", 2));
  EXPECT_TRUE(hcaMatches("mlx5_1::2", "mlx5_1", 2));
  EXPECT_FALSE(hcaMatches("mlx5_1:x", "mlx5_1", 1)) << "a port that is no number";
  std::string many = "=";
  for (int card = 0; card < 40; ++card) many += fmt::format("mlx5_{},", card);
  EXPECT_TRUE(hcaMatches(many, "mlx5_31", 1));
  EXPECT_FALSE(hcaMatches(many, "mlx5_32", 1)) << "NCCL reads 32 entries";
}

}  // namespace
}  // namespace xylem::topology
