// The program as such: help, version, misspelt words, exit statuses, and where its output goes.
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
  const Outcome run = runCommand({"settings"}, {}, Stdout::kFullDisk);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace xylem::testing
