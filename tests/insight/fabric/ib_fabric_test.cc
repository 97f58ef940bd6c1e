// The output of ibnetdiscover becomes the fabric that it describes.

#include "insight/fabric/ib_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "insight/fabric/fabric_file.h"

namespace xylem::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two leaves joined by two cables, one of them slower; three hosts; a switch's own adapter; a storage box.
constexpr const char* kSample = R"(#
# Topology file: generated on Thu Jan  2 03:04:05 2025
#
# Initiated from node b8cef60300aa0001 port b8cef60300aa0001

vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8cef60300110000
switchguid=0xb8cef60300110000(b8cef60300110000)
Switch	41 "S-b8cef60300110000"		# "MF0;leaf-a:MQM8700/U1" enhanced port 0 lid 1 lmc 0
[1]	"H-b8cef60300aa0000"[1](b8cef60300aa0000) 		# "node1 mlx5_0" lid 11 4xHDR
[2]	"H-b8cef60300bb0000"[1](b8cef60300bb0000) 		# "node2 HCA-1" lid 12 4xHDR
[39]	"S-b8cef60300220000"[39]		# "MF0;leaf-b:MQM8700/U1" lid 2 4xHDR
[40]	"S-b8cef60300220000"[40]		# "MF0;leaf-b:MQM8700/U1" lid 2 4xEDR
[41]	"H-b8cef60300110008"[1](b8cef60300110008) 		# "Mellanox Technologies Aggregation Node" lid 3 4xHDR

vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8cef60300220000
switchguid=0xb8cef60300220000(b8cef60300220000)
Switch	41 "S-b8cef60300220000"		# "MF0;leaf-b:MQM8700/U1" enhanced port 0 lid 2 lmc 0
[3]	"H-b8cef60300cc0000"[1](b8cef60300cc0000) 		# "node3" lid 13 2xHDR
[4]	"H-b8cef60300dd0000"[1](b8cef60300dd0000) 		# "MT4123 ConnectX6   Mellanox Technologies" lid 14 4xHDR
[5]	"H-b8cef60300aa0002"[1](b8cef60300aa0002) 		# "node1 mlx5_1" lid 15 4xHDR
[39]	"S-b8cef60300110000"[39]		# "MF0;leaf-a:MQM8700/U1" lid 1 4xHDR
[40]	"S-b8cef60300110000"[40]		# "MF0;leaf-a:MQM8700/U1" lid 1 4xEDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb8cef60300aa0000
caguid=0xb8cef60300aa0000
Ca	1 "H-b8cef60300aa0000"		# "node1 mlx5_0"
[1](b8cef60300aa0000) 	"S-b8cef60300110000"[1]		# lid 11 lmc 0 "MF0;leaf-a:MQM8700/U1" lid 1 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0xb8cef60300bb0000
Ca	1 "H-b8cef60300bb0000"		# "node2 HCA-1"
[1](b8cef60300bb0000) 	"S-b8cef60300110000"[2]		# lid 12 lmc 0 "MF0;leaf-a:MQM8700/U1" lid 1 4xHDR
)";

TEST(IbFabric, IsWhatTheRecordsSay) {
  ASSERT_TRUE(looksLikeIbnetdiscover(kSample));
  EXPECT_FALSE(looksLikeIbnetdiscover("# Switch\nswitch leaf0\n"));
  std::vector<std::string> remarks;
  const Fabric fabric = parseIbnetdiscover(kSample, "ib.txt", &remarks);
  EXPECT_THAT(fabric.switches, ElementsAre("leaf-a", "leaf-b"));
  EXPECT_THAT(fabric.links, ElementsAre(FabricLink{0, 1, 25, 1}, FabricLink{0, 1, 12.5, 1}));
  EXPECT_THAT(fabric.hosts,
              ElementsAre(FabricHost{"node1", {{"mlx5_0", 0, 25}, {"mlx5_1", 1, 25}}},
                          FabricHost{"node2", {{"mlx5_0", 0, 25}}}, FabricHost{"node3", {{"0", 1, 12.5}}}));
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("ib.txt:15: left out: `Mellanox Technologies Aggregation Node`"),
                                   HasSubstr("left out: `MT4123")));
}

TEST(IbFabric, SurvivesBeingWrittenAsText) {
  const Fabric fabric = parseIbnetdiscover(kSample, "ib.txt");
  EXPECT_TRUE(parseFabric(fabricText(fabric), "text.txt").sameNetwork(fabric));
}

TEST(IbFabric, SwitchesWithoutANameOfTheirOwnAreCalledById) {
  const Fabric fabric = parseIbnetdiscover(
      "Switch 2 \"S-1\" # \"Quantum Mellanox Technologies\" base port 0 lid 1 lmc 0\n"
      "[1] \"H-1\"[1](1) # \"n1 mlx5_0\" lid 5 4xNDR\n"
      "[2] \"S-2\"[1] # \"leaf\" lid 5 4xNDR\n"
      "Switch 2 \"S-2\" # \"leaf\" base port 0 lid 1 lmc 0\n"
      "Switch 2 \"S-3\" # \"leaf\" base port 0 lid 1 lmc 0\n",
      "ib.txt");
  EXPECT_THAT(fabric.switches, ElementsAre("S-1", "S-2", "S-3"));
  EXPECT_THAT(fabric.links, ElementsAre(FabricLink{0, 1, 50, 1}));
}

TEST(IbFabric, SaysWhereAndWhatIsWrong) {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      parseIbnetdiscover(text, "ib.txt");
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing";
  };
  const std::string head = "Switch 2 \"S-1\" # \"leaf\" base port 0 lid 1 lmc 0\n";
  EXPECT_THAT(complaint("[1] \"H-1\"[1](1) # \"n1 mlx5_0\" lid 5 4xNDR\n"), HasSubstr("ib.txt:1"));
  EXPECT_THAT(complaint(head + "[1] \"H-1\"[1](1) # \"n1 mlx5_0\" lid 5\n"), HasSubstr("ib.txt:2"));
  EXPECT_THAT(complaint(head + "[1] \"H-1\"[1](1) # \"n1 mlx5_0\" lid 5 4xWARP\n"), HasSubstr("4xHDR"));
  EXPECT_THAT(complaint(head + "[1] \"X-1\"[1](1) # \"n1 mlx5_0\" lid 5 4xNDR\n"), HasSubstr("a node's id"));
  EXPECT_THAT(complaint(head + "[one] \"H-1\"[1] # \"n1\" 4xNDR\n"), HasSubstr("a port, as [12]"));
  EXPECT_THAT(complaint(head + head), HasSubstr("ib.txt:2: found a second record of S-1"));
  EXPECT_THAT(complaint("Ca 1 \"S-1\" # \"n1 mlx5_0\"\n"), HasSubstr("`S-1` of Ca"));
  EXPECT_THAT(complaint(head + "what is this\n"), HasSubstr("ib.txt:2"));
  EXPECT_THAT(complaint(head), HasSubstr("ib.txt: found no host"));
}

}  // namespace
}  // namespace xylem::fabric
