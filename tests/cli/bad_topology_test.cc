// Files that cannot be used: exit status 2 and one line with file, line, what was found and what was
// expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
