// The command as such: help, version, misspelt words, exit statuses, where its output goes, and files that
// cannot be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kEscape = "\033[";

TEST(CommandTest, HelpListsEveryCommand) {
  const Outcome run = runCommand({"--help"});
  EXPECT_EQ(run.status, 0);
  for (const char* command : {"plan", "show", "why", "detect", "settings", "perf", "run"})
    EXPECT_THAT(run.output, HasSubstr(command));
}

TEST(CommandTest, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"plan", "show", "why", "detect", "settings", "perf", "run"}) {
    const Outcome run = runCommand({command, "--help"});
    EXPECT_EQ(run.status, 0) << command;
    EXPECT_THAT(run.output, AllOf(HasSubstr("Examples:"), HasSubstr(std::string("xylem ") + command)));
    EXPECT_THAT(run.errors, IsEmpty());
  }
}

TEST(CommandTest, VersionIsOneLine) {
  const Outcome run = runCommand({"--version"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, StartsWith("xylem "));
}

TEST(CommandTest, WithoutACommandItExplainsItselfOnStandardError) {
  const Outcome run = runCommand({});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, IsEmpty());
  EXPECT_THAT(run.errors, HasSubstr("Usage:"));
}

TEST(CommandTest, MisspeltCommandsAndOptionsGetASuggestion) {
  const Outcome command = runCommand({"pln"});
  EXPECT_EQ(command.status, 2);
  EXPECT_THAT(command.errors, HasSubstr("did you mean `plan`?"));
  const Outcome option = runCommand({"plan", "-", "--noes", "2"});
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.errors, HasSubstr("did you mean --nodes?"));
  const Outcome far = runCommand({"frobnicate"});
  EXPECT_EQ(far.status, 2);
  EXPECT_THAT(far.errors, HasSubstr("the commands are"));
}

TEST(CommandTest, BadOptionValuesSayWhatWouldDo) {
  for (const char* value : {"-2", "0", "two", "1.5", "99999999999999999999"}) {
    const Outcome run = runCommand({"plan", "-", "--nodes", value});
    EXPECT_EQ(run.status, 2) << value;
    EXPECT_THAT(run.errors, AllOf(StartsWith("xylem: "), HasSubstr("expected an integer from 1"))) << value;
  }
}

TEST(CommandTest, AnEmptyTextIsNoValue) {
  const Outcome run = runCommand({"plan", "-", "--nccl", ""});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, HasSubstr("--nccl: found an empty text, expected a value"));
}

TEST(CommandTest, MoreRanksThanCanBePlannedIsBadInput) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path(), "--nodes", "16777216"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, HasSubstr("at most"));
}

TEST(CommandTest, VariablesOutOfRangeNameThemselves) {
  const Outcome run = runCommand({"detect"}, {{"NCCL_CROSS_NIC", "7"}});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("NCCL_CROSS_NIC"), HasSubstr("0 to 2")));
}

TEST(CommandTest, ColourOnlyOnATerminalAndNotWithNoColor) {
  EXPECT_THAT(runCommand({"show"}, {{"TERM", "xterm"}}).output, Not(HasSubstr(kEscape)));
  EXPECT_THAT(runCommand({"show"}, {{"TERM", "xterm"}}, Stdout::kTerminal).output, HasSubstr(kEscape));
  EXPECT_THAT(runCommand({"show"}, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, Stdout::kTerminal).output,
              Not(HasSubstr(kEscape)));
  EXPECT_THAT(runCommand({"show"}, {{"TERM", "dumb"}}, Stdout::kTerminal).output, Not(HasSubstr(kEscape)));
}

TEST(CommandTest, BoxCharactersOnlyOnAUtf8Terminal) {
  const auto isAscii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  EXPECT_FALSE(isAscii(runCommand({"show"}, {{"LC_ALL", "C.UTF-8"}}, Stdout::kTerminal).output));
  EXPECT_TRUE(isAscii(runCommand({"show"}, {{"LC_ALL", "C"}}, Stdout::kTerminal).output));
  EXPECT_TRUE(isAscii(runCommand({"show"}, {{"LC_ALL", "C.UTF-8"}}).output));
}

TEST(CommandTest, FullDiskIsAnError) {
  EXPECT_EQ(runCommand({"--help"}, {}, Stdout::kFullDisk).status, 1);
  const Outcome run = runCommand({"settings"}, {}, Stdout::kFullDisk);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("No space left on device"));
}

struct Case {
  const char* name;
  std::string text;
  int line;  // 0: the file as a whole
};

void PrintTo(const Case& bad, std::ostream* out) { *out << bad.name; }

class BadTopologyTest : public ::testing::TestWithParam<Case> {};

TEST_P(BadTopologyTest, IsRefusedWithFileAndLine) {
  const Case& bad = GetParam();
  const ScratchFile file("bad.xml", bad.text);
  for (const char* command : {"plan", "show"}) {
    const Outcome run = runCommand({command, file.path()});
    EXPECT_EQ(run.status, 2) << command << ": " << run.output;
    EXPECT_EQ(run.output, "");
    const std::string place =
        bad.line > 0 ? file.path() + ":" + std::to_string(bad.line) + ": " : file.path() + ": ";
    EXPECT_THAT(run.errors, AllOf(StartsWith("xylem: " + place), HasSubstr("found"), HasSubstr("expected")));
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << "one line, not a dump";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadTopologyTest,
    ::testing::Values(
        Case{"Empty", "", 1}, Case{"NotXml", "hello <<<\n", 1},
        Case{"OtherRoot", "<machine version=\"1\"></machine>\n", 1},
        Case{"OtherVersion", smallHostWith("version=\"1\"", "version=\"2\""), 1},
        Case{"NotClosed", smallHostWith("</system>", ""), 18},
        Case{"SameRankTwice", smallHostWith("rank=\"1\"", "rank=\"0\""), 8},
        Case{"RankAttributeTwice", smallHostWith("rank=\"0\"", "rank=\"0\" rank=\"1\""), 5},
        Case{"RankOutOfRange", smallHostWith("rank=\"1\"", "rank=\"5\""), 8},
        Case{"NegativeRank", smallHostWith("rank=\"1\"", "rank=\"-1\""), 8},
        Case{"NegativeCount",
             smallHostWith(
                 "rank=\"0\" gdr=\"1\"/>",
                 "rank=\"0\" gdr=\"1\"><nvlink target=\"0000:12:00.0\" count=\"-3\" tclass=\"0x03\"/></gpu>"),
             5},
        Case{"SpeedNotANumber", smallHostWith("speed=\"100000\"", "speed=\"nan\""), 12},
        Case{"LatencyNotANumber", smallHostWith("latency=\"0\"", "latency=\"nan\""), 12},
        Case{"LatencyInfinite", smallHostWith("latency=\"0\"", "latency=\"inf\""), 12},
        Case{"BusIdTwice", smallHostWith("0000:12:00.0", "0000:11:00.0"), 7},
        Case{"GpuWithoutSm", smallHostWith(" sm=\"80\" rank=\"1\"", " rank=\"1\""), 8},
        Case{"CpuWithoutArch", smallHostWith(" arch=\"x86_64\"", ""), 2}),
    [](const auto& test) { return test.param.name; });

TEST(BadTopologyFileTest, MissingFilesAndFoldersAreNamed) {
  for (const char* command : {"plan", "show"}) {
    const Outcome missing = runCommand({command, "/nonexistent/host.xml"});
    EXPECT_EQ(missing.status, 2);
    EXPECT_THAT(missing.errors, AllOf(HasSubstr("/nonexistent/host.xml"), HasSubstr("No such file")));
    const Outcome folder = runCommand({command, "/"});
    EXPECT_EQ(folder.status, 2);
    EXPECT_THAT(folder.errors, HasSubstr("directory"));
    const Outcome endless = runCommand({command, "/dev/zero"});
    EXPECT_EQ(endless.status, 2);
  }
}

TEST(BadTopologyFileTest, UnknownElementsAreNamedAndLeftOut) {
  const ScratchFile file("host.xml", smallHostWith("<nic>", "<tpu/><nic>"));
  const Outcome run = runCommand({"show", file.path()});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("warning"), HasSubstr("tpu")));
}

TEST(BadTopologyFileTest, AMachineWithoutGpusCanBeShownButNotPlanned) {
  const ScratchFile file("host.xml",
                         "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"arm64\"/>\n</system>\n");
  EXPECT_EQ(runCommand({"show", file.path()}).status, 0);
  const Outcome run = runCommand({"plan", file.path()});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, HasSubstr("gpu"));
}

}  // namespace
}  // namespace xylem::testing
