// xylem whatif, repair, lint and vm: their words, their statuses, and what they refuse.
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
using ::testing::StartsWith;

const std::string kBad = std::string(XYLEM_SOURCE_DIR) + "/topologies/misconfigured/";

TEST(ChangeCommandsTest, HaveHelpWithExamples) {
  for (const char* command : {"whatif", "repair", "lint", "vm"}) {
    const Outcome run = runCommand({command, "--help"});
    EXPECT_EQ(run.status, 0) << command;
    EXPECT_THAT(run.output, AllOf(HasSubstr("Examples:"), HasSubstr(std::string("xylem ") + command),
                                  HasSubstr("--json")));
  }
}

TEST(WhatifTest, TellsWhatFollows) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run =
      runCommand({"whatif", host.path(), "--nodes", "2", "gdr net0 off", "set NCCL_CROSS_NIC=0"});
  EXPECT_EQ(run.status, 1) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("host.xml, gdr net0 off; set NCCL_CROSS_NIC=0: 4 ranks"),
                                HasSubstr("gdr 1 -> 0"), HasSubstr("NCCL_CROSS_NIC: not set -> 0"),
                                HasSubstr("rings GB/s")));
}

TEST(WhatifTest, SamePlanIsStatusZeroAndTheMachineCanBeWritten) {
  const ScratchFile host("host.xml", smallHost());
  const std::string out = (host.folder() / "out.xml").string();
  const Outcome run =
      runCommand({"whatif", host.path(), "--nodes", "1", "--nccl", "2.25.1", "gdr net0 off", "-o", out});
  EXPECT_EQ(run.status, 0) << run.output << run.errors;
  const Outcome diff = runCommand({"diff", host.path(), out, "--nodes", "2"});
  EXPECT_EQ(diff.status, 1);
  EXPECT_THAT(diff.output, HasSubstr("gdr 1 -> 0"));
  EXPECT_THAT(run.output, HasSubstr("The changed machine is in " + out));
}

TEST(WhatifTest, AJobThatCannotConnectIsNamed) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"whatif", host.path(), "--nodes", "2", "remove nets"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("a host has no NIC for the job"));
}

TEST(WhatifTest, JsonHasTheBandwidths) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"whatif", host.path(), "--nodes", "2", "width net0 x1", "--json"});
  EXPECT_EQ(run.status, 1) << run.errors;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["format"], "xylem-diff-1");
  EXPECT_GT(json["bandwidth"]["ringGBps"]["before"], json["bandwidth"]["ringGBps"]["after"]);
}

TEST(WhatifTest, RefusesWithWhatThereIs) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome none = runCommand({"whatif", host.path()});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.errors, HasSubstr("no edit"));
  const Outcome unknown = runCommand({"whatif", host.path(), "remove net7"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.errors, AllOf(HasSubstr("edit `remove net7`"), HasSubstr("net0")));
  EXPECT_EQ(runCommand({"whatif", "--host", host.path(), "remove net0"}).status, 2);
}

TEST(RepairTest, ExplainsAndRepairsAMachineWithoutNuma) {
  const Outcome run = runCommand({"repair", kBad + "vm-nics-without-numa.xml", "--nodes", "2"});
  EXPECT_EQ(run.status, 1) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(run.output, AllOf(HasSubstr("SYS from the nearest GPU"), HasSubstr("'move nets beside gpus'"),
                                HasSubstr("Its effect: xylem whatif")));
}

TEST(RepairTest, WritesTheMachineWithTheFirstChange) {
  const ScratchFile folder("host.xml", smallHost());
  const std::string bad = kBad + "vm-nics-without-numa.xml";
  const std::string out = (folder.folder() / "out.xml").string();
  const Outcome run = runCommand({"repair", bad, "--nodes", "2", "-o", out});
  EXPECT_EQ(run.status, 1) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("The machine with the first of them is in " + out));
  const Outcome edited = runCommand({"whatif", bad, "--nodes", "2", "move nets beside gpus"});
  EXPECT_EQ(edited.status, 1);
  EXPECT_THAT(runCommand({"diff", bad, out, "--nodes", "2"}).status, 1);
}

TEST(RepairTest, AMachineThatNothingHelpsIsStatusZero) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"repair", host.path(), "--nodes", "1"});
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("would help."));
}

TEST(LintCommandTest, StatusTellsWhetherThereAreFindings) {
  const ScratchFile good("good.xml", smallHost());
  const Outcome clean = runCommand({"lint", good.path()});
  EXPECT_EQ(clean.status, 0) << clean.output << clean.errors;
  EXPECT_THAT(clean.output, HasSubstr("good.xml: 0 errors, 0 warnings"));
  const ScratchFile bad("bad.xml", smallHostWith(" sm=\"80\"", ""));
  const Outcome run = runCommand({"lint", bad.path()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("bad.xml: 1 error, "), HasSubstr("found  gpu without `sm`"),
                                HasSubstr("fix    write sm=\"90\"")));
  EXPECT_EQ(nlohmann::json::parse(runCommand({"lint", bad.path(), "--json"}).output)["errors"], 1);
  EXPECT_EQ(runCommand({"lint", "/nowhere.xml"}).status, 2);
}

TEST(LintCommandTest, ManyFindingsOfOneRuleAreCounted) {
  std::string twice;
  for (int i = 0; i < 40; ++i)
    twice += "<pci busid=\"0000:" + std::to_string(50 + i / 2) +
             ":00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"/>\n";
  const ScratchFile file("bad.xml", smallHostWith("</cpu>", twice + "</cpu>"));
  const Outcome run = runCommand({"lint", file.path()});
  EXPECT_EQ(countOf(run.output, "a second time"), 8) << run.output;
  EXPECT_THAT(run.output, HasSubstr("and 12 more of duplicate-busid (--json has all)"));
  EXPECT_EQ(countOf(runCommand({"lint", file.path(), "--json"}).output, "a second time"), 20);
}

TEST(LintCommandTest, NotesCanBeLeftOut) {
  const std::string file = kBad + "vm-nics-without-gdr.xml";
  EXPECT_THAT(runCommand({"lint", file}).output, HasSubstr("gdr-off"));
  EXPECT_THAT(runCommand({"lint", file}).output, HasSubstr(" note\n"));
  EXPECT_THAT(runCommand({"lint", file, "--no-notes"}).output,
              AllOf(HasSubstr(" warnings\n"), Not(HasSubstr("gdr-off"))));
}

TEST(VmTest, WritesAFileThatIsCleanAndPlans) {
  const std::string host = std::string(XYLEM_SOURCE_DIR) + "/topologies/dgxh100.xml";
  const ScratchFile map("vm.map", "gpu0 0000:05:00.0\ngpu1 0000:06:00.0\nmlx5_0 0000:07:00.0 mlx5_0\n");
  const std::string out = (map.folder() / "vm.xml").string();
  const Outcome run = runCommand({"vm", "--host", host, "--guest-map", map.path(), "-o", out});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, IsEmpty());
  EXPECT_EQ(runCommand({"lint", out}).status, 0) << runCommand({"lint", out}).output;
  EXPECT_EQ(runCommand({"plan", out, "--nodes", "2"}).status, 0);
  const Outcome printed = runCommand({"vm", "--host", host, "--guest-map", map.path()});
  EXPECT_THAT(printed.output, StartsWith("<system version=\"1\">"));
  const auto json =
      nlohmann::json::parse(runCommand({"vm", "--host", host, "--guest-map", map.path(), "--json"}).output);
  EXPECT_EQ(json["topology"], printed.output);
  EXPECT_EQ(json["devices"], 3);
}

TEST(VmTest, PairsTheDevicesOfADump) {
  const std::string flat = kBad + "vm-flat.xml";
  const ScratchFile folder("host.xml", smallHost());
  const std::string out = (folder.folder() / "vm.xml").string();
  const Outcome run = runCommand({"vm", flat, "--pair", "auto", "-o", out});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, AllOf(HasSubstr("Azure ND H100 v5"), Not(HasSubstr("PCI switches"))));
  EXPECT_THAT(runCommand({"vm", "dgxh100", "--pair", "auto"}).errors,
              HasSubstr("shows PCI switches that hold GPUs and NICs"));
  EXPECT_THAT(runCommand({"vm", "seed-a40x2", "--pair", "auto"}).errors, Not(HasSubstr("PCI switches")));
  for (const std::string other : {"net0", "nic0"})
    EXPECT_THAT(runCommand({"vm", flat, "--pair", "net0=gpu0," + other + "=gpu1"}).errors,
                HasSubstr("--pair: found `" + other + "` in two pairs"));
  EXPECT_EQ(runCommand({"lint", out}).status, 0) << runCommand({"lint", out}).output;
  const auto planned =
      nlohmann::json::parse(runCommand({"why", out, "gdr", "gpu3", "net3", "--json"}).output);
  EXPECT_EQ(planned["yes"], true);
  EXPECT_EQ(nlohmann::json::parse(runCommand({"why", flat, "gdr", "gpu3", "net3", "--json"}).output)["yes"],
            false);
  // Pairs that the user knows.
  const Outcome known = runCommand({"vm", flat, "--pair", "mlx5_0=gpu1,mlx5_1=gpu0", "-o", out});
  EXPECT_EQ(known.status, 0) << known.errors;
  EXPECT_EQ(nlohmann::json::parse(runCommand({"why", out, "gdr", "gpu1", "net0", "--json"}).output)["yes"],
            true);
  const std::map<std::string, std::string> alone = {{"NCCL_PXN_DISABLE", "1"}};
  EXPECT_EQ(
      nlohmann::json::parse(runCommand({"why", out, "gdr", "gpu0", "net0", "--json"}, alone).output)["yes"],
      false);
}

TEST(VmTest, RefusesHalfAQuestion) {
  const std::string flat = kBad + "vm-flat.xml";
  EXPECT_THAT(runCommand({"vm", flat}).errors, HasSubstr("FILE with --pair"));
  EXPECT_THAT(runCommand({"vm"}).errors, HasSubstr("no file to start from"));
  EXPECT_EQ(runCommand({"vm", flat, "--pair", "auto", "--host", flat}).status, 2);
  EXPECT_THAT(runCommand({"vm", flat, "--pair", "net0"}).errors, HasSubstr("NET=GPU"));
  EXPECT_THAT(runCommand({"vm", flat, "--pair", "net99=gpu0"}).errors, HasSubstr("net99"));
}

TEST(VmTest, RefusesWithTheLineOfTheMap) {
  const ScratchFile host("host.xml", smallHost());
  const ScratchFile map("vm.map", "# devices\n0000:77:00.0 0000:05:00.0\n");
  const Outcome run = runCommand({"vm", "--host", host.path(), "--guest-map", map.path()});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, HasSubstr("vm.map:2: found `0000:77:00.0`"));
  const Outcome folder = runCommand({"vm", "--host", host.path(), "--guest-map", "/"});
  EXPECT_EQ(folder.status, 2);
  EXPECT_THAT(folder.errors, HasSubstr("/: found a directory; expected a map of devices"));
}

}  // namespace
}  // namespace xylem::testing
