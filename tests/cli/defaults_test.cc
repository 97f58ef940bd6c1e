// The assumptions of the commands: how many hosts, NVLink multicast. Every answer says for which job it
// holds.
// Names and spellings: machines of the zoo, sizes, operations; the help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_command.h"
#include "support/sanitizers.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string machine(const std::string& name) {
  return std::string(XYLEM_SOURCE_DIR) + "/topologies/" + name + ".xml";
}

constexpr const char* kTwoHosts = "assumed: 2 hosts";
constexpr const char* kNvls = "assumed: NVLS";

// Runs the command without a number of hosts, and with one.
void expectDefaultIsTwoHosts(std::vector<std::string> words, int status) {
  const Outcome usual = runCommand(words);
  EXPECT_EQ(usual.status, status) << usual.output << usual.errors;
  EXPECT_THAT(usual.output, AllOf(HasSubstr("2 hosts"), HasSubstr(kTwoHosts))) << words[0];
  words.insert(words.end(), {"-n", "2"});
  const Outcome same = runCommand(words);
  EXPECT_EQ(same.status, status) << same.output << same.errors;
  EXPECT_THAT(same.output, AllOf(HasSubstr("2 hosts"), Not(HasSubstr(kTwoHosts)))) << words[0];
}

TEST(DefaultsTest, AMachineWithNicsIsAskedAboutInAJobOfTwoHosts) {
  const std::string h100 = machine("dgxh100");
  expectDefaultIsTwoHosts({"whatif", h100, "remove net1"}, 1);
  expectDefaultIsTwoHosts({"diff", h100, "--b", "NCCL_CROSS_NIC=1"}, 1);
  expectDefaultIsTwoHosts({"plan", h100}, 0);
  expectDefaultIsTwoHosts({"tune", h100}, 0);
  expectDefaultIsTwoHosts({"why", h100, "count"}, 0);
  expectDefaultIsTwoHosts({"preflight", h100}, 0);
  if (kSanitized) return;  // the next two take long
  expectDefaultIsTwoHosts({"repair", machine("l40sx8-pcie")}, 1);
  expectDefaultIsTwoHosts({"optimize", machine("l40sx8-pcie")}, 0);
}

TEST(DefaultsTest, AMachineWithoutNicsIsAskedAboutAlone) {
  const Outcome run = runCommand({"plan", machine("gpu1-nonic")});
  EXPECT_THAT(run.output, AllOf(StartsWith("1 rank on 1 host of"), Not(HasSubstr("assumed:"))));
  EXPECT_THAT(runCommand({"plan", "-"}, {{"XYLEM_HOST_DEVICES", "2"}}).output, HasSubstr("on 1 host of"));
}

TEST(DefaultsTest, TheComparedMachinesAreInJobsOfAsManyHosts) {
  const Outcome run = runCommand({"diff", machine("gpu1-nonic"), machine("gpu1-nic1")});
  EXPECT_EQ(run.status, 1) << run.errors;
  EXPECT_THAT(run.output, AllOf(Not(HasSubstr("hosts: ")), HasSubstr("gpu1-nonic.xml: 2 ranks on 2 hosts")));
}

TEST(DefaultsTest, NvlsIsAssumedWhereTheHardwareHasIt) {
  const Outcome run = runCommand({"plan", machine("dgxh100"), "-n", "2"});
  EXPECT_THAT(run.output, AllOf(HasSubstr(kNvls), HasSubstr("NVLS 16 through 8 heads")));
  EXPECT_THAT(runCommand({"plan", machine("dgxh100"), "-n", "2", "--no-nvls"}).output,
              AllOf(Not(HasSubstr(kNvls)), Not(HasSubstr("heads"))));
  EXPECT_THAT(runCommand({"plan", machine("dgxh100"), "-n", "2", "--nvls"}).output,
              AllOf(Not(HasSubstr(kNvls)), HasSubstr("through 8 heads")));
  // The variable decides, the compute capability, and the NVSwitch.
  EXPECT_THAT(runCommand({"plan", machine("dgxh100")}, {{"NCCL_NVLS_ENABLE", "0"}}).output,
              AllOf(Not(HasSubstr(kNvls)), Not(HasSubstr("heads"))));
  EXPECT_THAT(runCommand({"plan", machine("dgxa100")}).output, Not(HasSubstr(kNvls)));
  EXPECT_THAT(runCommand({"plan", machine("h100x4-mesh")}).output, Not(HasSubstr(kNvls)));
  EXPECT_EQ(runCommand({"plan", machine("dgxh100"), "--nvls", "--no-nvls"}).status, 2);
}

TEST(DefaultsTest, ProgramsReadTheAssumptions) {
  const auto plan = nlohmann::json::parse(runCommand({"plan", machine("dgxh100"), "--json"}).output);
  ASSERT_EQ(plan["assumed"].size(), 2u);
  EXPECT_THAT(plan["assumed"][0].get<std::string>(), StartsWith("2 hosts"));
  const auto why = nlohmann::json::parse(runCommand({"why", machine("dgxh100"), "count", "--json"}).output);
  EXPECT_EQ(why["job"]["hosts"], 2);
}

TEST(DefaultsTest, EveryPlanningCommandSaysThatAJobWouldHang) {
  const std::vector<std::string> hosts = {"--host",           machine("dgxh100"), "--host",
                                          machine("dgxa100"), "--nccl",           "2.25.1"};
  const auto errorsOf = [&](std::vector<std::string> words) {
    words.insert(words.begin() + 1, hosts.begin(), hosts.end());
    const Outcome run = runCommand(words);
    EXPECT_EQ(run.status, 0) << run.errors;
    return run.output + run.errors;
  };
  EXPECT_THAT(errorsOf({"plan"}), HasSubstr("would decide differently and hang"));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"tune", "--sizes", "1M"}, {"why", "count"}, {"draw", "--json"}})
    EXPECT_THAT(errorsOf(words), HasSubstr("this job would hang under NCCL 2.25.1")) << words[0];
}

TEST(DefaultsTest, APredictionThatIgnoresTheNumberOfChannelsSaysSo) {
  const std::map<std::string, std::string> few = {{"NCCL_MAX_NCHANNELS", "2"}};
  const std::vector<std::string> words = {"tune", machine("dgxa100"), "--sizes", "1G"};
  EXPECT_THAT(runCommand(words).output, Not(HasSubstr("ignore the number of channels")));
  EXPECT_THAT(runCommand(words, few).output,
              AllOf(HasSubstr("ignore the number of channels"), HasSubstr("The job has 2 channels"),
                    HasSubstr("together, of at most")));
  std::vector<std::string> json = words;
  json.emplace_back("--json");
  const auto tuned = nlohmann::json::parse(runCommand(json, few).output);
  EXPECT_EQ(tuned["channels"]["job"], 2);
  EXPECT_EQ(tuned["channels"]["predictionIgnoresThem"], true);
  EXPECT_LT(tuned["channels"]["bandwidth"], tuned["channels"]["bound"]);
  EXPECT_THAT(runCommand({"whatif", machine("dgxa100"), "set NCCL_MAX_NCHANNELS=2"}).output,
              HasSubstr("ignore the number of channels"));
}

TEST(ZooCommandTest, MachinesGoByNameFromAnywhere) {
  const Outcome run = runCommand({"plan", "dgxh100"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, StartsWith("16 ranks on 2 hosts of dgxh100"));
  EXPECT_EQ(runCommand({"show", "dgxh100.xml"}).status, 0);
  EXPECT_EQ(runCommand({"lint", "vm-flat"}).status, 1);
  EXPECT_EQ(runCommand({"diff", "dgxh100", "dgxa100"}).status, 1);
  EXPECT_EQ(runCommand({"plan", "--host", "dgxh100", "--host", "dgxa100@0,1"}).status, 0);
}

TEST(ZooCommandTest, AnUnknownNameOffersTheNearest) {
  const Outcome run = runCommand({"plan", "dgxh10"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("no such file, and no such machine in the zoo"),
                                HasSubstr("`xylem zoo`"), HasSubstr("did you mean dgxh100?")));
  EXPECT_THAT(runCommand({"plan", "/no/such.xml"}).errors, HasSubstr("/no/such.xml"));
}

TEST(ZooCommandTest, ListsMachinesWithWhatTheyAre) {
  const Outcome list = runCommand({"zoo"});
  EXPECT_EQ(list.status, 0) << list.errors;
  EXPECT_THAT(list.output, AllOf(HasSubstr("dgxh100 "), HasSubstr("vm-flat")));
  const Outcome file = runCommand({"zoo", "dgxh100"});
  EXPECT_THAT(file.output, HasSubstr("topologies/dgxh100.xml\n"));
  const auto json = nlohmann::json::parse(runCommand({"zoo", "--json"}).output);
  EXPECT_GT(json["machines"].size(), 40u);
  for (const auto& machine : json["machines"]) EXPECT_NE(machine["what"], "") << machine["name"];
  const auto one = nlohmann::json::parse(runCommand({"zoo", "dgxh100", "--json"}).output);
  ASSERT_EQ(one["machines"].size(), 1u);
  EXPECT_EQ(one["machines"][0]["name"], "dgxh100");
  EXPECT_EQ(runCommand({"zoo", "nothing-like-it"}).status, 2);
}

TEST(SpellingTest, EveryCommandReadsSizesAndOperationsAlike) {
  for (const char* size : {"1536K", "1.5M", "1.5 MiB"}) {
    EXPECT_THAT(runCommand({"tune", machine("dgxa100"), "--sizes", size}).output, HasSubstr("1536 KiB"))
        << size;
    EXPECT_THAT(runCommand({"why", machine("dgxa100"), "algo", "AllReduce", size}).output,
                HasSubstr("1536 KiB"))
        << size;
  }
  for (const char* operation : {"AllReduce", "all_reduce", "allreduce"}) {
    EXPECT_EQ(runCommand({"why", machine("dgxa100"), "algo", operation, "1M"}).status, 0) << operation;
    const Outcome run = runCommand({"perf", operation, "-p", "2", "-b", "8", "-e", "8", "-n", "1", "-w", "1"},
                                   {{"NCCL_SOCKET_IFNAME", "lo"}});
    EXPECT_EQ(run.status, 0) << operation << run.errors;
  }
}

TEST(HelpTest, CommandsStandInGroupsWithoutLeftovers) {
  const Outcome run = runCommand({"--help"});
  std::size_t at = 0;
  for (const char* text :
       {"Look at a machine:", "  show", "Plan a job:", "  plan", "Ask:", "  why", "Compare:", "  diff",
        "Improve:", "  repair", "Run:", "  perf", "Watch:", "  status", "Help:"}) {
    const std::size_t found = run.output.find(std::string("\n") + text, at);
    ASSERT_NE(found, std::string::npos) << text;
    at = found;
  }
  for (const char* command : {"plan", "perf", "why", "tune", "vm", "optimize"}) {
    const std::string help = runCommand({command, "--help"}).output;
    EXPECT_THAT(help, AllOf(Not(HasSubstr("Excludes:")), Not(HasSubstr("Needs:")), Not(HasSubstr(":{"))))
        << command;
  }
}

}  // namespace
}  // namespace xylem::testing
