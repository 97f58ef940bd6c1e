// Fabrics as text: the meaning of each line, errors with their places, and that written fabrics read the
// same.

#include "insight/fabric/fabric_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "fuzz/fabric_file_input.h"
#include "fuzz/replay.h"
#include "insight/fabric/name_ranges.h"

namespace xylem::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NameRanges, CountOut) {
  const SourceLocation here = {"x", 1};
  EXPECT_THAT(expandNames("spine", here), ElementsAre("spine"));
  EXPECT_THAT(expandNames("leaf[0-2],spine", here), ElementsAre("leaf0", "leaf1", "leaf2", "spine"));
  EXPECT_THAT(expandNames("h[08-10,20]x", here), ElementsAre("h08x", "h09x", "h10x", "h20x"));
  EXPECT_THAT(expandNames("r[0-1]n[0-1]", here), ElementsAre("r0n0", "r0n1", "r1n0", "r1n1"));
}

TEST(NameRanges, RefuseWhatIsNone) {
  for (const char* text : {"", "a,", ",a", "a[", "a]", "a[]", "a[1", "a[1-]", "a[-1]", "a[2-1]", "a[x]",
                           "a[1,]", "a[0-999999999]", "a[0-999][0-999]", "a b", "a[[1]]", "a[1-2-3]"})
    EXPECT_THROW(expandNames(text, {"x", 1}), InputError) << text;
}

TEST(FabricFile, ReadsSwitchesLinksAndNics) {
  const Fabric fabric = parseFabric(
      "# a small one\n"
      "switch leaf[0-1] spine0   # three of them\r\n"
      "\n"
      "link leaf[0-1] spine0 400Gb/s x2\n"
      "link spine0 leaf1 400Gb/s\n"
      "nic h[0-1] mlx5_[0-1] leaf[0-1] 25GB/s\n"
      "nic h2 mlx5_[0-1] leaf0 100Gb/s\n",
      "f.txt");
  EXPECT_THAT(fabric.switches, ElementsAre("leaf0", "leaf1", "spine0"));
  EXPECT_THAT(fabric.links, ElementsAre(FabricLink{0, 2, 50, 2}, FabricLink{1, 2, 50, 3}));
  ASSERT_EQ(fabric.hosts.size(), 3u);
  EXPECT_EQ(fabric.hosts[1], (FabricHost{"h1", {{"mlx5_0", 0, 25}, {"mlx5_1", 1, 25}}}));
  EXPECT_EQ(fabric.hosts[2], (FabricHost{"h2", {{"mlx5_0", 0, 12.5}, {"mlx5_1", 0, 12.5}}}));
}

TEST(FabricFile, ComesBackFromItsText) {
  const Fabric fabric = parseFabric(
      "switch l[0-3] s[0-1]\nlink l[0-3] s[0-1] 54.54Gb/s\nlink l0 s0 7.1GB/s x3\n"
      "nic h[00-12] mlx5_[0-3] l[0-3] 0.1Gb/s\n",
      "f.txt");
  EXPECT_TRUE(parseFabric(fabricText(fabric), "again.txt").sameNetwork(fabric));
}

TEST(FabricFile, SaysWhereAndWhatIsWrong) {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      parseFabric(text, "f.txt");
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(complaint("switch leaf0\n\nswich spine\n"), HasSubstr("f.txt:3: found `swich`"));
  EXPECT_THAT(complaint("switch leaf0\nswitch leaf0"),
              HasSubstr("f.txt:2: found switch `leaf0` a second time"));
  EXPECT_THAT(complaint("switch leaf0 spine0\nlink leaf0 spine1 1Gb/s"),
              testing::AllOf(HasSubstr("f.txt:2: found `spine1`"), HasSubstr("`spine0`, perhaps")));
  EXPECT_THAT(complaint("switch a b\nlink a b 400"), HasSubstr("expected a speed, as 400Gb/s"));
  EXPECT_THAT(complaint("switch a b\nlink a b 0Gb/s"), HasSubstr("expected a speed"));
  EXPECT_THAT(complaint("switch a b\nlink a b nanGb/s"), HasSubstr("expected a speed"));
  EXPECT_THAT(complaint("switch a b\nlink a b 1Gb/s 2"), HasSubstr("expected a number of cables"));
  EXPECT_THAT(complaint("switch a b\nlink a a 1Gb/s"), HasSubstr("to itself"));
  EXPECT_THAT(complaint("switch a b\nlink a b"), HasSubstr("expected link SWITCHES SWITCHES SPEED"));
  EXPECT_THAT(complaint("switch a b\nnic h m[0-2] a,b 1Gb/s"), HasSubstr("3 NICs and 2 switches"));
  EXPECT_THAT(complaint("switch a b\n"), HasSubstr("f.txt: found no host"));
  EXPECT_THAT(complaint("switch\n"), HasSubstr("f.txt:1: found no name"));
}

TEST(FabricFile, FilesThatCannotBeRead) {
  EXPECT_THROW(readFabric("/nonexistent/fabric.txt"), InputError);
  EXPECT_THROW(readFabric("/"), InputError);
}

// The fuzzers' corpora of fabrics.
TEST(FabricCorpus, Text) {
  const Replayed replayed = replayCorpus("fabric_file", feedFabricFile);
  EXPECT_GE(replayed.accepted, 2);
  EXPECT_GE(replayed.refused, 2);
}

TEST(FabricCorpus, Ibnetdiscover) {
  const Replayed replayed = replayCorpus("ib_fabric", feedIbFabric);
  EXPECT_GE(replayed.accepted, 1);
  EXPECT_GE(replayed.refused, 1);
}

}  // namespace
}  // namespace xylem::fabric
