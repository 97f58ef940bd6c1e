// xylem detect and xylem settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_command.h"
#include "planner/topology/document.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DetectCommandTest, PrintsXmlThatEveryCommandReads) {
  const Outcome run = runCommand({"detect", "--devices", "5"});
  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_NO_THROW(topology::parseTopology(run.output, "detected"));
  EXPECT_GE(countOf(run.output, "<gpu "), 5);
  const ScratchFile file("node.xml", run.output);
  EXPECT_EQ(runCommand({"show", file.path()}).status, 0);
  EXPECT_EQ(runCommand({"plan", file.path(), "--nodes", "2"}).status, 0);
}

TEST(DetectCommandTest, WritesAFile) {
  const ScratchFile file("node.xml", "");
  const Outcome run = runCommand({"detect", "-o", file.path()});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, IsEmpty());
  EXPECT_EQ(contentsOf(file.path()), runCommand({"detect"}).output);
}

TEST(DetectCommandTest, SaysWhyAFileCannotBeWritten) {
  const Outcome run = runCommand({"detect", "-o", "/nonexistent/node.xml"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("/nonexistent/node.xml"));
}

TEST(DetectCommandTest, HostIdGivesTheHash) {
  const auto hash = [](const std::string& id) {
    const Outcome run = runCommand({"detect"}, {{"NCCL_HOSTID", id}});
    return run.output.substr(0, run.output.find("numaid"));
  };
  EXPECT_EQ(hash("blue"), hash("blue"));
  EXPECT_NE(hash("blue"), hash("green"));
}

// A machine with two GPUs of which the kernel says nothing.
std::string gpuFacts(const ScratchFile& file) {
  std::filesystem::create_directories(file.folder() / "machine/xylem");
  std::ofstream(file.folder() / "machine/xylem/gpus")
      << "gpu dev=0 busid=0000:1b:00.0 sm=90\ngpu dev=1 busid=0000:1c:00.0 sm=90\n";
  return (file.folder() / "machine").string();
}

TEST(DetectCommandTest, DescribesACapturedMachine) {
  const ScratchFile file("node.xml", "");
  const Outcome run = runCommand({"detect", "--root", gpuFacts(file)});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(countOf(run.output, "<gpu "), 2);
  EXPECT_THAT(run.output, AllOf(HasSubstr("rank=\"1\""), Not(HasSubstr("host=\"1\""))));
  const Outcome devices = runCommand({"detect", "--root", gpuFacts(file), "--devices", "3"});
  EXPECT_THAT(devices.output, AllOf(HasSubstr("host=\"1\""), Not(HasSubstr("rank="))));
}

TEST(DetectCommandTest, CapturesAMachine) {
  const ScratchFile file("node.xml", "");
  const std::string folder = (file.folder() / "captured").string();
  const Outcome capture = runCommand({"detect", "--root", gpuFacts(file), "--capture", folder});
  EXPECT_EQ(capture.status, 0) << capture.errors;
  EXPECT_THAT(capture.output, IsEmpty());
  EXPECT_EQ(countOf(runCommand({"detect", "--root", folder}).output, "<gpu "), 2);
  const Outcome again = runCommand({"detect", "--capture", folder});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.errors, HasSubstr("not an empty folder"));
}

TEST(DetectCommandTest, CapturesThisMachine) {
  const ScratchFile file("node.xml", "");
  const std::string folder = (file.folder() / "captured").string();
  EXPECT_EQ(runCommand({"detect", "--capture", folder}).status, 0);
  EXPECT_EQ(runCommand({"detect", "--root", folder}).status, 0);
}

TEST(DetectCommandTest, SaysThatAFolderIsNoCapture) {
  const Outcome run = runCommand({"detect", "--root", "/nonexistent"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, HasSubstr("found `/nonexistent`, which is no folder"));
}

TEST(DetectCommandTest, SaysThatTheTopologyFileIsMissing) {
  const ScratchFile file("node.xml", "");
  const Outcome run =
      runCommand({"detect", "--root", gpuFacts(file)}, {{"NCCL_TOPO_FILE", "/nonexistent.xml"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.errors, HasSubstr("cannot open /nonexistent.xml (NCCL_TOPO_FILE)"));
}

TEST(SettingsCommandTest, ListsEveryVariable) {
  const Outcome run = runCommand({"settings"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, AllOf(HasSubstr("NCCL_P2P_LEVEL"), HasSubstr("XYLEM_TIMEOUT"), HasSubstr("0..2")));
}

TEST(SettingsCommandTest, SaysWhatIsSetAndWhere) {
  const ScratchFile conf("nccl.conf", "# a comment\nNCCL_CROSS_NIC=1\n");
  const std::map<std::string, std::string> environment = {{"NCCL_CONF_FILE", conf.path()},
                                                          {"NCCL_MIN_CTAS", "0x4"}};
  const Outcome run = runCommand({"settings", "--set-only"}, environment);
  EXPECT_THAT(run.output, AllOf(HasSubstr("NCCL_CROSS_NIC"), HasSubstr(conf.path() + ":2"),
                                HasSubstr("environment"), Not(HasSubstr("NCCL_P2P_LEVEL"))));
  const Outcome json = runCommand({"settings", "--set-only", "--json"}, environment);
  const auto list = nlohmann::json::parse(json.output)["settings"];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["name"], "NCCL_CROSS_NIC");
  EXPECT_EQ(list[0]["origin"], conf.path() + ":2");
  EXPECT_EQ(list[1]["value"], 4);
}

TEST(SettingsCommandTest, JsonListsAllWithTypes) {
  const Outcome run = runCommand({"settings", "--json"});
  const auto list = nlohmann::json::parse(run.output)["settings"];
  EXPECT_GT(list.size(), 20u);
  for (const auto& row : list) {
    EXPECT_TRUE(row["name"].is_string());
    EXPECT_FALSE(row["set"].get<bool>()) << row;
    EXPECT_EQ(row.contains("minimum"), row["type"] == "integer") << row;
  }
}

TEST(SettingsCommandTest, SecretsAreNotShown) {
  const std::map<std::string, std::string> environment = {{"XYLEM_SECRET", "correct-horse"}};
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"settings", "--set-only"}, {"settings", "--set-only", "--json"}}) {
    const Outcome run = runCommand(arguments, environment);
    EXPECT_THAT(run.output,
                AllOf(HasSubstr("XYLEM_SECRET"), HasSubstr("(hidden)"), Not(HasSubstr("correct-horse"))));
  }
}

TEST(SettingsCommandTest, JsonIsAlwaysUtf8) {
  const Outcome run = runCommand({"settings", "--json", "--set-only"}, {{"NCCL_HOSTID", "caf\xe9"}});
  EXPECT_TRUE(nlohmann::json::accept(run.output));
}

TEST(SettingsCommandTest, UnknownVariablesGetASuggestion) {
  EXPECT_THAT(runCommand({"settings", "--set-only"}).output, HasSubstr("No variable is set"));
  const Outcome run = runCommand({"settings", "--set-only"}, {{"NCCL_CROS_NIC", "1"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, HasSubstr("No variable that Xylem reads is set"));
  EXPECT_THAT(run.errors, AllOf(HasSubstr("NCCL_CROS_NIC"), HasSubstr("did you mean NCCL_CROSS_NIC?")));
}

TEST(SettingsCommandTest, ValuesThatPlanningWouldRefuseAreNamed) {
  const Outcome run = runCommand({"settings", "--set-only"}, {{"NCCL_ALGO", "Rinng"}});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, HasSubstr("Rinng"));
  EXPECT_THAT(run.errors, HasSubstr("NCCL_ALGO: found `Rinng`; expected one of Tree, Ring"));
}

TEST(SettingsCommandTest, ValuesThatNcclIgnoresAndFilesThatCannotBeReadAreNamed) {
  const auto errors = [](const std::string& name, const std::string& value, const std::string& output) {
    const Outcome run = runCommand({"settings", "--set-only"}, {{name, value}});
    EXPECT_EQ(run.status, 2) << name << "=" << value;
    EXPECT_THAT(run.output, HasSubstr(output));
    return run.errors;
  };
  EXPECT_THAT(errors("NCCL_P2P_LEVEL", "FOO", "FOO (ignored)"),
              HasSubstr("NCCL_P2P_LEVEL=FOO (environment) is not one of"));
  EXPECT_THAT(errors("NCCL_CONF_FILE", "/nonexistent", ""),
              HasSubstr("NCCL_CONF_FILE=/nonexistent (environment) cannot be read"));
  EXPECT_THAT(errors("NCCL_CONF_FILE", "/", ""), HasSubstr("NCCL_CONF_FILE=/ (environment) cannot be read"));
  EXPECT_THAT(errors("NCCL_GRAPH_FILE", "/", "NCCL_GRAPH_FILE"), HasSubstr("cannot read /: Is a directory"));
  const ScratchFile empty("nccl.conf", "");
  EXPECT_EQ(runCommand({"settings", "--set-only"}, {{"NCCL_CONF_FILE", empty.path()}}).status, 0);
}

TEST(SettingsCommandTest, FilesThatCannotBeWrittenAreNamed) {
  const Outcome run =
      runCommand({"settings", "--set-only"}, {{"NCCL_TOPO_DUMP_FILE", "/nonexistent/topo.xml"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.errors,
              HasSubstr("NCCL_TOPO_DUMP_FILE (environment): /nonexistent/topo.xml cannot be written"));
}

TEST(SettingsCommandTest, ListsThatSelectNothingHereAreNamed) {
  const auto warnings = [](const std::map<std::string, std::string>& environment) {
    const Outcome run = runCommand({"settings", "--set-only"}, environment);
    EXPECT_EQ(run.status, 0);
    return run.errors;
  };
  EXPECT_THAT(warnings({{"NCCL_SOCKET_IFNAME", "nosuch"}}),
              HasSubstr("NCCL_SOCKET_IFNAME=nosuch (environment) selects no interface of this machine"));
  EXPECT_THAT(warnings({{"NCCL_IB_HCA", "=nosuch:1"}}),
              HasSubstr("NCCL_IB_HCA==nosuch:1 (environment) selects no RDMA device of this machine"));
  EXPECT_THAT(warnings({{"NCCL_SOCKET_IFNAME", "^nosuch"}}), IsEmpty());
  EXPECT_THAT(runCommand({"detect"}, {{"NCCL_SOCKET_IFNAME", "nosuch"}}).errors,
              HasSubstr("NCCL_SOCKET_IFNAME=nosuch selects no interface of this machine"));
}

TEST(SettingsCommandTest, ControlCharactersOfAValueDoNotReachTheTerminal) {
  const Outcome run = runCommand({"settings", "--set-only"}, {{"NCCL_GRAPH_DUMP_FILE", "/tmp/a\033[2Jb"}});
  EXPECT_THAT(run.output, AllOf(HasSubstr("/tmp/a\\x1b[2Jb"), Not(HasSubstr("\033"))));
}

TEST(SettingsCommandTest, AllFindingsAreNamedAtOnce) {
  const std::map<std::string, std::string> environment = {
      {"NCCL_CROSS_NIC", "7"},   {"NCCL_BUFFSIZE", "big"},    {"NCCL_ALGO", "Rinng"},
      {"NCCL_PROTO", "Simpel"},  {"NCCL_CROS_NIC", "1"},      {"NCCL_TOPO_FILE", "/nonexistent.xml"},
      {"NCCL_P2P_LEVEL", "P2C"}, {"XYLEM_SECRET", "correct"}, {"XYLEM_NCCL", "two"}};
  const Outcome run = runCommand({"settings", "--set-only"}, environment);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, AllOf(HasSubstr("7 (refused)"), HasSubstr("big (refused)"), HasSubstr("Rinng"),
                                HasSubstr("(hidden)"), Not(HasSubstr("correct"))));
  EXPECT_THAT(run.errors, AllOf(HasSubstr("NCCL_CROSS_NIC: found 7"), HasSubstr("NCCL_BUFFSIZE: found `big`"),
                                HasSubstr("found `Rinng`"), HasSubstr("found `Simpel`"),
                                HasSubstr("XYLEM_NCCL"), HasSubstr("did you mean NCCL_CROSS_NIC?"),
                                HasSubstr("NCCL_TOPO_FILE (environment): cannot read /nonexistent.xml"),
                                Not(HasSubstr("P2C"))));
  const Outcome json = runCommand({"settings", "--set-only", "--json", "--nccl", "2.25.1"}, environment);
  EXPECT_EQ(json.status, 2);
  const auto report = nlohmann::json::parse(json.output);
  EXPECT_EQ(report["settings"][0].value("name", ""), "XYLEM_NCCL");
  EXPECT_GE(report["refusals"].size(), 5u);
  EXPECT_THAT(json.output, HasSubstr("NCCL 2.25.1 knows no such level"));
}

}  // namespace
}  // namespace xylem::testing
