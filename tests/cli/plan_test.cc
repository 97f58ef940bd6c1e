// xylem plan: what it prints, as text, as JSON and as NCCL's log lines.
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
  std::vector<std::string> words = {"plan"};
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

}  // namespace
}  // namespace xylem::testing
