// xylem plan: its text, its JSON, NCCL's log lines and graph files; and xylem optimize, which writes graph
// files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

const std::map<std::string, std::string> kInfo = {{"NCCL_DEBUG", "INFO"}};

TEST(PlanCommandTest, TellsTheJobItsGraphsAndItsRings) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path(), "--nodes", "3"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(run.output, AllOf(StartsWith("6 ranks on 3 hosts of "), HasSubstr("RING"),
                                HasSubstr("NET 0  0 1"), HasSubstr("0 1 | 2 3 | 4 5")));
}

TEST(PlanCommandTest, SaysWhatTheRingsDoNotUseAndWhy) {
  const ScratchFile host("host.xml", smallHostWith("maxconn=\"131072\" gdr=\"1\"", "gdr=\"0\""));
  const Outcome run = runCommand({"plan", host.path(), "--nodes", "2"});
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("do without, and why"), HasSubstr("GPU 0 to NET 0: no GPU Direct RDMA")));
}

TEST(PlanCommandTest, LongRingsAreShortened) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path(), "--nodes", "1000"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("more ..."), HasSubstr("1998 1999")));
  EXPECT_LT(run.output.size(), 10000u);
}

TEST(PlanCommandTest, TellsTheTreesAndWhatAllReduceGets) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path(), "--nodes", "6"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("0 > 4, 4 > 2 5, 2 > 1 3"), HasSubstr("AllReduce by size"),
                                HasSubstr("Simple"), Not(HasSubstr("agreement"))));
}

TEST(PlanCommandTest, OneRankHasNothingToChoose) {
  const Outcome run = runCommand({"plan", std::string(XYLEM_SOURCE_DIR) + "/topologies/gpu1-nonic.xml"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(Not(HasSubstr("AllReduce")), Not(HasSubstr("Trees of the job"))));
}

TEST(PlanCommandTest, MixedJobsTellTheirKindsOfHosts) {
  const std::string zoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";
  const Outcome run =
      runCommand({"plan", "--host", zoo + "dgxh100.xml:2", "--host", zoo + "dgxa100.xml@0,1,2,3", "--nvls"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(StartsWith("20 ranks on 3 hosts of 2 kinds\n"), HasSubstr("agreement: "),
                                HasSubstr("Graphs of dgxh100,"), HasSubstr("Graphs of dgxa100@0,1,2,3,"),
                                HasSubstr("0-15")));
}

TEST(PlanCommandTest, PointsToPreflightWhereRanksDisagree) {
  const std::string zoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";
  const std::vector<std::string> hosts = {"--host", zoo + "dgxh100.xml", "--host", zoo + "dgxa100.xml"};
  std::vector<std::string> words = {"plan", "--nccl", "2.25.1"};
  words.insert(words.end(), hosts.begin(), hosts.end());
  EXPECT_THAT(runCommand(words).output, HasSubstr("`xylem preflight`"));
  words.insert(words.end(), {"--rules", "xylem"});
  EXPECT_THAT(runCommand(words).output, HasSubstr("agreement: all ranks decide alike"));
}

TEST(PlanCommandTest, NvlsAndCollnetAreShownWherePresent) {
  const std::string host = std::string(XYLEM_SOURCE_DIR) + "/topologies/dgxh100.xml";
  const Outcome run =
      runCommand({"plan", host, "--nodes", "2", "--nvls", "--collnet"}, {{"NCCL_COLLNET_ENABLE", "1"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("NVLS 16 through 8 heads"), HasSubstr("CollNet chain"),
                                HasSubstr("CollNet: the network reduces")));
}

TEST(PlanCommandTest, JsonIsJson) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path(), "--nodes", "2", "--json"});
  EXPECT_EQ(run.status, 0) << run.errors;
  const auto plan = nlohmann::json::parse(run.output);
  EXPECT_EQ(plan["format"], "xylem-plan-1");
  EXPECT_EQ(plan["job"]["ranks"], 4);
  EXPECT_EQ(plan["connections"]["rings"][0], (std::vector<int>{0, 1, 2, 3}));
}

TEST(PlanCommandTest, LogsAsNcclDoesWhenAsked) {
  const ScratchFile host("host.xml", smallHost());
  EXPECT_THAT(runCommand({"plan", host.path()}).output, Not(HasSubstr("NCCL INFO")));
  const Outcome run = runCommand({"plan", host.path()}, kInfo);
  EXPECT_THAT(run.output, AllOf(HasSubstr("NCCL INFO Pattern 4, crossNic 0, nChannels"),
                                HasSubstr("NCCL INFO === System : maxBw")));
}

TEST(PlanCommandTest, LogLinesDoNotSpoilTheJson) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path(), "--json"}, kInfo);
  EXPECT_TRUE(nlohmann::json::accept(run.output));
  EXPECT_THAT(run.errors, HasSubstr("NCCL INFO Pattern 4"));
}

TEST(PlanCommandTest, SettingsChangeThePlanAndAreNamedInIt) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path(), "--nodes", "2"}, {{"NCCL_MIN_NCHANNELS", "7"}});
  EXPECT_THAT(run.output, AllOf(HasSubstr("set: NCCL_MIN_NCHANNELS=7"), HasSubstr("channels: 7")));
}

TEST(PlanCommandTest, PlansThisMachine) {
  const Outcome run = runCommand({"plan", "-", "--nodes", "2"}, {{"XYLEM_HOST_DEVICES", "4"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("hosts of this machine"));
}

TEST(PlanCommandTest, NeedsAFile) {
  const Outcome run = runCommand({"plan"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, HasSubstr("no host; expected a topology FILE"));
}

std::string replacedAll(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(GraphFileCommandTest, WhatIsDumpedCanBeChangedAndGivenBack) {
  const ScratchFile host("host.xml", smallHost());
  const std::string file = (host.folder() / "graphs.xml").string();
  EXPECT_EQ(runCommand({"plan", host.path(), "--nodes", "2"}, {{"NCCL_GRAPH_DUMP_FILE", file}}).status, 0);
  const std::string dumped = contentsOf(file);
  EXPECT_THAT(
      dumped,
      AllOf(StartsWith("<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\""),
            HasSubstr(
                "<net dev=\"0\"/>\n      <gpu dev=\"0\" rank=\"0\"/>\n      <gpu dev=\"0x1\" rank=\"1\"/>")));

  std::ofstream(file) << replacedAll(dumped,
                                     "<gpu dev=\"0\" rank=\"0\"/>\n      <gpu dev=\"0x1\" rank=\"1\"/>",
                                     "<gpu dev=\"0x1\" rank=\"1\"/>\n      <gpu dev=\"0\" rank=\"0\"/>");
  const Outcome run =
      runCommand({"plan", host.path(), "--nodes", "2"}, {{"NCCL_GRAPH_FILE", file}, {"NCCL_DEBUG", "INFO"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("from the graph file"), HasSubstr("NET 0  1 0"),
                                HasSubstr("channels loaded from XML graph"),
                                HasSubstr("assumed: the channels of " + file + ", as NCCL_GRAPH_FILE")));
}

TEST(GraphFileCommandTest, OnlyTheNamedRankOfTheJobDumps) {
  const ScratchFile host("host.xml", smallHost());
  const std::filesystem::path file = host.folder() / "graphs.xml";
  const auto dumpOf = [&](const std::string& rank) {
    return runCommand({"plan", host.path(), "--nodes", "1"},
                      {{"NCCL_GRAPH_DUMP_FILE", file.string()}, {"NCCL_GRAPH_DUMP_FILE_RANK", rank}});
  };
  EXPECT_EQ(dumpOf("2").status, 0);  // ranks 0 and 1
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(dumpOf("1").status, 0);
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(GraphFileCommandTest, SaysWhatIsWrongWithAFileAndWhere) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome missing = runCommand({"plan", host.path()}, {{"NCCL_GRAPH_FILE", "/no/such/graphs.xml"}});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.errors,
              AllOf(HasSubstr("/no/such/graphs.xml: found nothing to read"), HasSubstr("NCCL_GRAPH_FILE")));
  const Outcome topology = runCommand({"plan", host.path()}, {{"NCCL_GRAPH_FILE", host.path()}});
  EXPECT_EQ(topology.status, 2);
  EXPECT_THAT(topology.errors, HasSubstr("host.xml:1: found the element system as the root"));
}

TEST(GraphFileCommandTest, SaysWhichConfigurationFileNamesIt) {
  const ScratchFile host("host.xml", smallHost());
  const ScratchFile missing("nccl.conf", "# forgotten\nNCCL_GRAPH_FILE=/no/such/graphs.xml\n");
  EXPECT_THAT(runCommand({"plan", host.path()}, {{"NCCL_CONF_FILE", missing.path()}}).errors,
              HasSubstr("NCCL_GRAPH_FILE in " + missing.path() + ":2"));
  const ScratchFile wrong("nccl.conf", "NCCL_GRAPH_FILE=" + host.path() + "\n");
  EXPECT_THAT(runCommand({"plan", host.path()}, {{"NCCL_CONF_FILE", wrong.path()}}).errors,
              HasSubstr("(NCCL_GRAPH_FILE in " + wrong.path() + ":1)"));
}

TEST(PlanCommandTest, VariablesSelectNicsOfFiles) {
  const std::string h100 = std::string(XYLEM_SOURCE_DIR) + "/topologies/dgxh100.xml";
  EXPECT_THAT(runCommand({"plan", h100}).output, HasSubstr("8 NETs"));
  const Outcome one = runCommand({"plan", h100}, {{"NCCL_IB_HCA", "=mlx5_0,mlx5_2:1"}});
  EXPECT_THAT(one.output, AllOf(HasSubstr("2 NETs"), HasSubstr("2 of 8 NICs, as NCCL_IB_HCA=")));
  EXPECT_THAT(runCommand({"plan", h100}, {{"NCCL_IB_HCA", "^mlx5_0"}}).output, HasSubstr("7 NETs"));
  const Outcome none = runCommand({"plan", h100}, {{"NCCL_IB_HCA", "mlx9"}});
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.errors, HasSubstr("NCCL_IB_HCA=mlx9 selects no NIC: hosts are planned without a network; "
                                     "there are mlx5_0, mlx5_1"));
  // Interfaces are selected by another variable.
  EXPECT_THAT(runCommand({"plan", h100}, {{"NCCL_SOCKET_IFNAME", "eth0"}}).output, HasSubstr("8 NETs"));
  const Outcome whatif = runCommand({"whatif", h100, "set NCCL_IB_HCA=mlx5_0"});
  EXPECT_EQ(whatif.status, 1) << whatif.errors;
  EXPECT_THAT(whatif.output, HasSubstr("NCCL_IB_HCA: not set -> mlx5_0"));
}

TEST(GraphFileCommandTest, WarnsOfWhatItLeavesOut) {
  const ScratchFile host("host.xml", smallHost());
  const ScratchFile graphs("graphs.xml", "<graphs version=\"1\">\n<disk/>\n</graphs>\n");
  const Outcome run = runCommand({"plan", host.path()}, {{"NCCL_GRAPH_FILE", graphs.path()}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("Ignoring element disk ("));
  EXPECT_THAT(run.output, Not(HasSubstr("from the graph file")));
}

TEST(GraphFileCommandTest, SaysWhenItCannotWrite) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path()},
                                 {{"NCCL_GRAPH_DUMP_FILE", host.folder().string() + "/no/graphs.xml"}});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("cannot write "));
}

std::string zoo(const std::string& name) { return std::string(XYLEM_SOURCE_DIR) + "/topologies/" + name; }

TEST(PlanCommandTest, ExactBoundsOfLargeHostsComeWhenAsked) {
  const auto boundsOf = [](std::vector<std::string> words) {
    words.insert(words.begin(), "plan");
    words.emplace_back("--json");
    return Json::parse(runCommand(words).output)["bounds"][0]["ring"];
  };
  const Json quick = boundsOf({"gpu16-rootport-intel", "-n", "1"});
  const Json exact = boundsOf({"gpu16-rootport-intel", "-n", "1", "--bounds"});
  EXPECT_EQ(quick["cutAlone"], true);
  EXPECT_EQ(exact["cutAlone"], false);
  EXPECT_LE(exact["bandwidth"], quick["bandwidth"]);
  EXPECT_EQ(quick["program"], 0);
  // Hosts of 8 GPUs always have the exact bound.
  const Json eight = boundsOf({"l40sx8-pcie"});
  EXPECT_EQ(eight["cutAlone"], false);
  EXPECT_GT(eight["program"], 0);
}

TEST(OptimizeCommand, PlanTakesTheFile) {
  const ScratchFile scratch("graph.xml", "");
  const std::string file = scratch.path();
  const auto optimized = runCommand({"optimize", zoo("l40sx8-pcie.xml"), "--nodes", "1", "-o", file});
  EXPECT_EQ(optimized.status, 0);
  EXPECT_THAT(optimized.output, HasSubstr("16.00"));
  EXPECT_THAT(optimized.output, HasSubstr(file + " is for NCCL_GRAPH_FILE"));
  const auto planned =
      runCommand({"plan", zoo("l40sx8-pcie.xml"), "--nodes", "1", "--json"}, {{"NCCL_GRAPH_FILE", file}});
  ASSERT_EQ(planned.status, 0);
  const Json plan = Json::parse(planned.output);
  EXPECT_NEAR(plan["bounds"][0]["ring"]["achieved"].get<double>(), 16, 0.001);
  EXPECT_NEAR(plan["bounds"][0]["ring"]["bandwidth"].get<double>(), 16, 0.001);
}

TEST(OptimizeCommand, Json) {
  const auto run =
      runCommand({"optimize", zoo("l40sx8-pcie.xml"), "--nodes", "2", "--max-channels", "4", "--json"});
  ASSERT_EQ(run.status, 0);
  const Json json = Json::parse(run.output);
  EXPECT_EQ(json["format"], "xylem-optimum-1");
  EXPECT_LE(json["ring"]["graph"]["nChannels"], 4);
  EXPECT_GE(json["ring"]["best"], json["ring"]["found"]);
  EXPECT_FALSE(json["ring"]["bound"]["cut"]["links"].empty());
  EXPECT_THAT(json["graphFile"].get<std::string>(), HasSubstr("<graphs version=\"1\">"));
}

TEST(OptimizeCommand, ServesHostsOfSeveralKinds) {
  const auto run =
      runCommand({"optimize", "--host", zoo("nic-nogdr.xml"), "--host", zoo("dgxa100.xml"), "--json"});
  ASSERT_EQ(run.status, 0) << run.errors;
  const Json json = Json::parse(run.output);
  ASSERT_EQ(json["otherParts"].size(), 1u);
  EXPECT_TRUE(json["judged"]["slower"].empty());
  EXPECT_GT(json["judged"]["sets"].get<int>(), 0);
}

// Several files that say the same are one kind of host, with one graph file.
TEST(OptimizeCommand, TakesEqualFilesForOneKind) {
  const auto text = contentsOf(zoo("nic-nogdr.xml"));
  const ScratchFile copy("copy.xml", text);
  const auto run = runCommand({"optimize", "--host", zoo("nic-nogdr.xml"), "--host", copy.path(), "--json"});
  ASSERT_EQ(run.status, 0) << run.errors;
  const Json json = Json::parse(run.output);
  EXPECT_TRUE(json["wins"]);
  EXPECT_FALSE(json.contains("otherParts"));
}

TEST(OptimizeCommand, WritesNothingThatWinsNothing) {
  const ScratchFile graph("graph.xml", "as it was");
  const auto run = runCommand({"optimize", zoo("dgxa100.xml"), "--nodes", "2", "-o", graph.path()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("is not written: no channels win"));
  EXPECT_EQ(contentsOf(graph.path()), "as it was");
}

// The file says in a comment which functions get slower.
TEST(OptimizeCommand, TheFileSaysWhatIsSlower) {
  const ScratchFile graph("graph.xml", "");
  const auto run = runCommand({"optimize", zoo("l40sx8-2switch.xml"), "--nodes", "2", "-o", graph.path(),
                               "--weight", "Broadcast=0,Reduce=0,AllGather=0,ReduceScatter=0"});
  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("some functions are slower"));
  EXPECT_THAT(contentsOf(graph.path()), HasSubstr("<!-- slower by NCCL's model: Broadcast from"));
}

}  // namespace
}  // namespace xylem::testing
