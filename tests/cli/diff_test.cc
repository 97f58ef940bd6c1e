// xylem diff: its words, its statuses, and what it refuses.
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

constexpr const char* kGdr = "maxconn=\"131072\" gdr=\"1\"";
constexpr const char* kNoGdr = "maxconn=\"131072\" gdr=\"0\"";

TEST(DiffCommandTest, TellsCauseAndEffectAndThatPlansDiffer) {
  const ScratchFile a("a.xml", smallHost());
  const ScratchFile b("b.xml", smallHostWith(kGdr, kNoGdr));
  const Outcome run = runCommand({"diff", a.path(), b.path(), "--nodes", "2"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(
      run.output,
      AllOf(HasSubstr("a.xml: 4 ranks on 2 hosts, planned as NCCL 2.30.7\n"), HasSubstr("gdr 1 -> 0"),
            HasSubstr("both GPU-NET pairs: GPU Direct RDMA when receiving: yes -> no\n"),
            HasSubstr("      B: no GPU Direct RDMA when receiving: the network device has gdr=\"0\"\n")));
  EXPECT_LT(run.output.find("Machine"), run.output.find("Decisions"));
}

TEST(DiffCommandTest, SamePlanIsStatusZero) {
  const ScratchFile a("a.xml", smallHost());
  const Outcome run = runCommand({"diff", a.path(), a.path()});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, HasSubstr("Nothing differs."));
  const Outcome set = runCommand({"diff", a.path(), "--b", "NCCL_NET_GDR_LEVEL=PXB", "--nodes", "2"});
  EXPECT_EQ(set.status, 0);
  EXPECT_THAT(set.output,
              AllOf(HasSubstr("NCCL_NET_GDR_LEVEL: not set -> PXB"), HasSubstr("The plan is the same.")));
}

TEST(DiffCommandTest, SettingsOfOneSideAndOfBoth) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand(
      {"diff", host.path(), "--a", "NCCL_MAX_NCHANNELS=1", "--b", "NCCL_MIN_NCHANNELS=6", "--nodes", "2"},
      {{"NCCL_CROSS_NIC", "1"}});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("NCCL_MAX_NCHANNELS: 1 -> not set"), HasSubstr("channels: 1 -> 6"),
                                HasSubstr("\nset: NCCL_CROSS_NIC=1\n"), Not(HasSubstr("NCCL_CROSS_NIC:"))));
}

TEST(DiffCommandTest, NumbersOfHosts) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"diff", host.path(), "--nodes", "2,4"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("hosts: 2 -> 4"), HasSubstr("ranks: 4 -> 8")));
}

TEST(DiffCommandTest, PlansInJson) {
  const ScratchFile host("host.xml", smallHost());
  const ScratchFile plan("plan.json", runCommand({"plan", host.path(), "--nodes", "3", "--json"}).output);
  // The number of hosts comes from the plan.
  const Outcome same = runCommand({"diff", plan.path(), host.path()});
  EXPECT_EQ(same.status, 0) << same.output << same.errors;
  const Outcome run = runCommand({"diff", plan.path(), host.path(), "--b", "NCCL_ALGO=Ring", "--json"});
  EXPECT_EQ(run.status, 1) << run.errors;
  const auto diff = nlohmann::json::parse(run.output);
  EXPECT_EQ(diff["format"], "xylem-diff-1");
  EXPECT_EQ(diff["samePlan"], false);
  EXPECT_EQ(diff["asked"][0]["what"], "NCCL_ALGO");
  EXPECT_EQ(diff["choices"][0]["collective"], "AllReduce");
  EXPECT_FALSE(diff.contains("paths"));
}

TEST(DiffCommandTest, SaysWhatItCannotUse) {
  const ScratchFile host("host.xml", smallHost());
  const ScratchFile plan("plan.json", "{\"format\": \"xylem-plan-1\"}");
  const ScratchFile cut("cut.json", "{\"format\":\n");
  const ScratchFile odd("odd.json", "\n{\n\"format\" 1}\n");
  const ScratchFile list("list.json", "[1, 2]\n");
  const auto refuses = [](const std::vector<std::string>& words, const std::string& message) {
    const Outcome run = runCommand(words);
    EXPECT_EQ(run.status, 2) << message;
    EXPECT_THAT(run.errors, HasSubstr(message));
    EXPECT_THAT(run.output, IsEmpty());
  };
  refuses({"diff"}, "A is required");
  refuses({"diff", host.path()}, "nothing to compare");
  refuses({"diff", host.path(), "--b", "NCCL_CROS_NIC=1"}, "did you mean NCCL_CROSS_NIC?");
  refuses({"diff", host.path(), "--b", "NCCL_IB_TIMEOUT=22"}, "is NCCL's, and no plan depends on it");
  refuses({"diff", host.path(), "--b", "NCCL_CROSS_NIC"}, "NAME=VALUE");
  refuses({"diff", host.path(), "--b", "NCCL_CROSS_NIC="}, "NAME=VALUE");
  refuses({"diff", host.path(), "--b", "NCCL_CROSS_NIC=7"}, "an integer from 0 to 2");
  refuses({"diff", host.path(), "--nodes", "2,x"}, "a number of hosts");
  refuses({"diff", host.path(), "--b", "nccl=foo"}, "--b: found `foo`; expected a version of NCCL");
  refuses({"diff", host.path(), plan.path()}, "found a plan that cannot be read: key '");
  refuses({"diff", host.path(), cut.path()}, "cut.json:1: found JSON that ends too soon; expected a plan");
  refuses({"diff", host.path(), odd.path()}, "odd.json:3: found text that is no JSON; expected a plan");
  refuses({"diff", host.path(), list.path()}, "list.json: found JSON of another format; expected a plan");
  refuses({"diff", plan.path(), plan.path(), "--nodes", "2"}, "made already");
  refuses({"diff", host.path(), "no/such.xml"}, "no/such.xml");
}

TEST(DiffCommandTest, ColoursOnlyForPeople) {
  const ScratchFile a("a.xml", smallHost());
  const std::vector<std::string> words = {"diff", a.path(), "--nodes", "1,2"};
  const std::map<std::string, std::string> terminal = {{"TERM", "xterm"}};
  EXPECT_THAT(runCommand(words, terminal).output, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(runCommand(words, terminal, Stdout::kTerminal).output, HasSubstr("\x1b["));
}

}  // namespace
}  // namespace xylem::testing
