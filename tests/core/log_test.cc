#include "core/log.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "core/settings.h"
#include "core/temporary_directory.h"

namespace xylem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr std::uint32_t bit(Subsystem subsystem) { return static_cast<std::uint32_t>(subsystem); }

TEST(Subsystems, AreNamesInAnyCase) {
  std::vector<std::string> unknown;
  EXPECT_EQ(parseSubsystems("INIT,graph,,NeT", &unknown),
            bit(Subsystem::kInit) | bit(Subsystem::kGraph) | bit(Subsystem::kNet));
  EXPECT_EQ(parseSubsystems("ALL", &unknown), 0xffffffffu);
  EXPECT_EQ(parseSubsystems("", &unknown), 0u);
  EXPECT_THAT(unknown, IsEmpty());
}

TEST(Subsystems, ACaretExcludes) {
  EXPECT_EQ(parseSubsystems("^NET,ENV", nullptr), ~(bit(Subsystem::kNet) | bit(Subsystem::kEnv)));
}

TEST(Subsystems, UnknownNamesAreReported) {
  std::vector<std::string> unknown;
  EXPECT_EQ(parseSubsystems("INIT,GRAPHS,N", &unknown), bit(Subsystem::kInit));
  EXPECT_THAT(unknown, ElementsAre("GRAPHS", "N"));
}

TEST(LogFileName, ReplacesHostAndProcess) {
  EXPECT_EQ(expandLogFileName("/tmp/x.%h.%p.log", "node1", 42), "/tmp/x.node1.42.log");
  EXPECT_EQ(expandLogFileName("100%%-%q-%", "h", 1), "100%-%q-%");
  EXPECT_EQ(expandLogFileName("", "h", 1), "");
}

class LogLines : public ::testing::Test {
 protected:
  // Returns the text that a logger with these settings writes to its file.
  template <typename Use>
  std::string written(std::map<std::string, std::string> pairs, Use use) {
    const std::string path = directory_ / "log";
    std::filesystem::remove(path);
    pairs["NCCL_DEBUG_FILE"] = path;
    use(Logger(Settings::fromPairs(pairs)));
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  TemporaryDirectory directory_;
};

TEST_F(LogLines, LookLikeNccls) {
  const std::string text = written({{"NCCL_DEBUG", "INFO"}}, [](const Logger& log) {
    log.info(Subsystem::kInit, "comm {} rank {}", "0x55", 3);
    log.warn("rank {} is late", 1);
  });
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const std::string process = fmt::format(":{}:{} [-1] NCCL ", getpid(), syscall(SYS_gettid));
  EXPECT_THAT(line, HasSubstr(process + "INFO comm 0x55 rank 3"));
  EXPECT_THAT(line.substr(0, line.find(':')), MatchesRegex("[^.]+"));
  std::getline(lines, line);
  EXPECT_EQ(line, "") << "a warning starts with an empty line";
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr(process + "WARN rank 1 is late"));
}

TEST_F(LogLines, ShowTheThreadsDevice) {
  const std::string text = written({{"NCCL_DEBUG", "info"}}, [](const Logger& log) {
    std::thread([&] {
      Logger::setThreadDevice(5);
      log.info(Subsystem::kInit, "here");
    }).join();
    log.info(Subsystem::kInit, "there");
  });
  EXPECT_THAT(text, HasSubstr(" [5] NCCL INFO here\n"));
  EXPECT_THAT(text, HasSubstr(" [-1] NCCL INFO there\n"));
}

TEST_F(LogLines, FollowLevelAndSubsystems) {
  const auto speak = [](const Logger& log) {
    log.warn("w");
    log.info(Subsystem::kInit, "i");
    log.info(Subsystem::kGraph, "g");
    log.write({LogLevel::kInfo, Subsystem::kNet, "n"});
    log.trace(Subsystem::kInit, "t");
  };
  const auto seen = [&](const std::map<std::string, std::string>& pairs) {
    std::istringstream lines(written(pairs, speak));
    std::string letters;
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) letters += line.back();
    return letters;
  };
  EXPECT_EQ(seen({}), "");
  EXPECT_EQ(seen({{"NCCL_DEBUG", "VERSION"}}), "");
  EXPECT_EQ(seen({{"NCCL_DEBUG", "WARN"}}), "w");
  EXPECT_EQ(seen({{"NCCL_DEBUG", "INFO"}}), "wi");
  EXPECT_EQ(seen({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "GRAPH,NET"}}), "wgn");
  EXPECT_EQ(seen({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "^NET"}}), "wig");
  EXPECT_EQ(seen({{"NCCL_DEBUG", "TRACE"}, {"NCCL_DEBUG_SUBSYS", "ALL"}}), "wignt");
  EXPECT_EQ(seen({{"NCCL_DEBUG", "nonsense"}}), "");
}

TEST(LogOutput, GoesToStandardOutputWithoutAFile) {
  ::testing::internal::CaptureStdout();
  const Logger log(Settings::fromPairs({{"NCCL_DEBUG", "VERSION"}}));
  log.version("NCCL version 2.25.1");
  log.info(Subsystem::kInit, "hidden");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "NCCL version 2.25.1\n");
}

TEST(LogOutput, LoggersOfAProcessAddToOneFile) {
  TemporaryDirectory folder;
  std::ofstream(folder / "log") << "of an earlier process";
  const Settings settings = Settings::fromPairs({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_FILE", folder / "log"}});
  Logger(settings).info(Subsystem::kInit, "one");
  Logger(settings).info(Subsystem::kInit, "two");
  std::ostringstream text;
  text << std::ifstream(folder / "log").rdbuf();
  EXPECT_THAT(text.str(), AllOf(HasSubstr("one"), HasSubstr("two"), Not(HasSubstr("earlier"))));
}

TEST(LogOutput, AFileThatCannotBeWrittenIsAnError) {
  try {
    const Logger log(Settings::fromPairs({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_FILE", "/nowhere/x.%p"}}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kSystemError);
    EXPECT_THAT(error.what(),
                HasSubstr(fmt::format("NCCL_DEBUG_FILE: cannot write /nowhere/x.{}: No such file or "
                                      "directory",
                                      getpid())));
  }
}

TEST(LogOutput, TheFileIsNotTouchedWithoutALevel) {
  EXPECT_NO_THROW(Logger(Settings::fromPairs({{"NCCL_DEBUG_FILE", "/nowhere/x"}})));
}

}  // namespace
}  // namespace xylem
