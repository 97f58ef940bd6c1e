// xylem order: what it prints and writes, and what it says about input that does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::string kHost = std::string(XYLEM_SOURCE_DIR) + "/topologies/gpu1-nic1.xml";
constexpr const char* kFabric =
    "switch leaf[0-1] spine\nlink leaf[0-1] spine 100Gb/s\n"
    "nic a,c mlx5_0 leaf0 200Gb/s\nnic b,d mlx5_0 leaf1 200Gb/s\n";

TEST(OrderCommandTest, ProposesAndWritesAnOrder) {
  const ScratchFile fabric("fabric.txt", kFabric);
  const ScratchFile out("hosts", "");
  const Outcome run = runCommand({"order", kHost, "--nodes", "4", "--fabric", fabric.path(), "--hosts",
                                  "a,b,c,d", "--write-hostfile", out.path()});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(run.output, AllOf(HasSubstr("4 ranks on 4 hosts"), HasSubstr("oversubscribed up to 4:1"),
                                HasSubstr("a > b"), HasSubstr("Proposed order, the best there is"),
                                HasSubstr(" slots=1")));
  // As the order of a new job, the proposed order has no better one.
  const Outcome again = runCommand(
      {"order", kHost, "--nodes", "4", "--fabric", fabric.path(), "--hostfile", out.path(), "--json"});
  ASSERT_EQ(again.status, 0) << again.errors;
  const auto json = nlohmann::json::parse(again.output);
  EXPECT_EQ(json["format"], "xylem-order-1");
  EXPECT_EQ(json["better"], false);
  EXPECT_EQ(json["now"]["hosts"].size(), 4u);
  EXPECT_THAT(run.output, HasSubstr(json["now"]["hosts"][0].get<std::string>() + " slots=1\n"));
}

TEST(OrderCommandTest, JsonHasBothOrders) {
  const ScratchFile fabric("fabric.txt", kFabric);
  const Outcome run =
      runCommand({"order", kHost, "--nodes", "4", "--fabric", fabric.path(), "--hosts", "a,b,c,d", "--json"});
  ASSERT_EQ(run.status, 0) << run.errors;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["better"], true);
  EXPECT_EQ(json["allTried"], true);
  EXPECT_THAT(json["proposed"]["hosts"].get<std::vector<std::string>>(),
              UnorderedElementsAre("a", "b", "c", "d"));
  // Four ranks: an edge has 2 * 3/4 bytes; four of them cross before, two after, over two links each.
  EXPECT_NEAR(json["now"]["Ring"]["allCables"].get<double>(), 12, 1e-9);
  EXPECT_NEAR(json["proposed"]["Ring"]["allCables"].get<double>(), 6, 1e-9);
  EXPECT_EQ(json["now"]["Ring"]["busiestLinks"].size(), 4u);
  EXPECT_EQ(json["now"]["Ring"]["busiestLinks"][0]["crossings"].size(), 2u);
}

TEST(OrderCommandTest, ReadsIbnetdiscoverAndWritesText) {
  const ScratchFile fabric("ib.txt",
                           "Switch 3 \"S-1\" # \"leaf\" base port 0 lid 1 lmc 0\n"
                           "[1] \"H-1\"[1](1) # \"n1 mlx5_0\" lid 5 4xHDR\n"
                           "[2] \"H-2\"[1](2) # \"n2 HCA-1\" lid 6 4xHDR\n"
                           "[3] \"H-3\"[1](3) # \"Mellanox Technologies Aggregation Node\" lid 7 4xHDR\n");
  const ScratchFile out("fabric.txt", "");
  const Outcome run =
      runCommand({"order", kHost, "--nodes", "2", "--fabric", fabric.path(), "--write-fabric", out.path()});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("left out: `Mellanox Technologies Aggregation Node`"));
  EXPECT_EQ(contentsOf(out.path()), "switch leaf\nnic n1 mlx5_0 leaf 200Gb/s\nnic n2 mlx5_0 leaf 200Gb/s\n");
}

TEST(OrderCommandTest, SaysWhatCannotBeUsed) {
  const ScratchFile fabric("fabric.txt", kFabric);
  const ScratchFile broken("broken.txt", "switch leaf\nnic a mlx5_0 leef 1Gb/s\n");
  const auto errors = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"order", kHost, "--nodes", "4"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome run = runCommand(words);
    EXPECT_EQ(run.status, 2) << run.output;
    EXPECT_THAT(run.output, IsEmpty());
    return run.errors;
  };
  EXPECT_THAT(errors({}), HasSubstr("--fabric"));
  EXPECT_THAT(errors({"--fabric", "/nonexistent"}), HasSubstr("/nonexistent: found nothing to read"));
  EXPECT_THAT(errors({"--fabric", "/"}), HasSubstr("/: found a directory; expected a file that describes"));
  // The content of a file must not move a terminal's cursor.
  const ScratchFile escapes("escapes.txt", "foo\033[31mred bar\n");
  EXPECT_THAT(errors({"--fabric", escapes.path()}), HasSubstr("found `foo\\x1b[31mred`"));
  EXPECT_THAT(errors({"--fabric", broken.path()}),
              AllOf(HasSubstr("broken.txt:2"), HasSubstr("`leaf`, perhaps")));
  EXPECT_THAT(errors({"--fabric", fabric.path(), "--hosts", "a,b"}), HasSubstr("found 2 hosts; expected 4"));
  EXPECT_THAT(errors({"--fabric", fabric.path(), "--hosts", "a,b,c,e"}), HasSubstr("no host `e`"));
  EXPECT_THAT(errors({"--fabric", fabric.path(), "--hosts", "a,b,c,[d"}), HasSubstr("--hosts"));
  EXPECT_THAT(errors({"--fabric", fabric.path(), "--hostfile", "/nonexistent"}),
              AllOf(HasSubstr("/nonexistent: found nothing to read"), HasSubstr("--hostfile")));
  EXPECT_THAT(errors({"--fabric", fabric.path(), "--hostfile", "/"}), HasSubstr("/: found a directory"));
}

}  // namespace
}  // namespace xylem::testing
