// Where settings come from: the environment first, then the files NCCL reads.

#include <gmock/gmock.h>

#include <fstream>

#include "core/error.h"
#include "core/scoped_environment.h"
#include "core/settings.h"
#include "core/temporary_directory.h"

namespace xylem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(SettingsEnvironment, TakesOnlyOurVariables) {
  const ScopedEnvironment environment{{"NCCL_CROSS_NIC", "0"}, {"XYLEM_TIMEOUT", "5"}};
  const Settings settings = Settings::fromEnvironment();
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 0);
  EXPECT_EQ(settings.integer(Setting::kTimeout), 5);
  EXPECT_EQ(settings.origin(Setting::kTimeout), "environment");
  EXPECT_THAT(settings.warnings(), IsEmpty());
}

TEST(SettingsEnvironment, NamesUnknownVariablesAndSuggests) {
  const ScopedEnvironment environment{{"NCCL_CROS_NIC", "0"}, {"XYLEM_TEST_GOLDEN", "x"}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre("NCCL_CROS_NIC (environment) is not a variable that Xylem honours; "
                          "did you mean NCCL_CROSS_NIC?"));
}

TEST(SettingsEnvironment, DoesNotSuggestWhatIsFarAway) {
  const ScopedEnvironment environment{{"NCCL_ENTIRELY_DIFFERENT", "0"}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre("NCCL_ENTIRELY_DIFFERENT (environment) is not a variable that Xylem honours"));
}

TEST(SettingsEnvironment, ABadValueNamesItsVariable) {
  const ScopedEnvironment environment{{"NCCL_BUFFSIZE", "big"}};
  try {
    Settings::fromEnvironment();
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "environment: NCCL_BUFFSIZE: found `big`; expected an integer");
  }
}

class SettingsFile : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = directory_ / name;
    std::ofstream(path) << text;
    return path;
  }
  TemporaryDirectory directory_;
};

TEST_F(SettingsFile, CompletesTheEnvironmentAndNeverReplacesIt) {
  const std::string path =
      write("nccl.conf", "# a comment\n\nNCCL_CROSS_NIC=1\nNCCL_BUFFSIZE=65536\r\nnot a line\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", path}, {"NCCL_CROSS_NIC", "0"}};
  const Settings settings = Settings::fromEnvironment();
  EXPECT_EQ(settings.integer(Setting::kCrossNic), 0);
  EXPECT_EQ(settings.integer(Setting::kBuffSize), 65536);
  EXPECT_EQ(settings.origin(Setting::kBuffSize), path + ":4");
  EXPECT_THAT(settings.warnings(), IsEmpty());
}

TEST_F(SettingsFile, TheFirstLineForAVariableWins) {
  const std::string path = write("nccl.conf", "NCCL_CROSS_NIC=1\nNCCL_CROSS_NIC=0\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", path}};
  EXPECT_EQ(Settings::fromEnvironment().integer(Setting::kCrossNic), 1);
}

TEST_F(SettingsFile, AnEmptyVariableHidesTheFilesValue) {
  const std::string path = write("nccl.conf", "NCCL_CROSS_NIC=1\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", path}, {"NCCL_CROSS_NIC", ""}};
  EXPECT_FALSE(Settings::fromEnvironment().isSet(Setting::kCrossNic));
}

TEST_F(SettingsFile, TheHomeFileIsReadUnlessAnotherIsNamed) {
  const std::string home = write(".nccl.conf", "NCCL_CROSS_NIC=1\n");
  const std::string directory = home.substr(0, home.rfind('/'));
  {
    const ScopedEnvironment environment{{"HOME", directory}};
    EXPECT_EQ(Settings::fromEnvironment().origin(Setting::kCrossNic), home + ":1");
  }
  const std::string other = write("other.conf", "NCCL_BUFFSIZE=128\n");
  const ScopedEnvironment environment{{"HOME", directory}, {"NCCL_CONF_FILE", other}};
  EXPECT_FALSE(Settings::fromEnvironment().isSet(Setting::kCrossNic));
}

TEST_F(SettingsFile, ErrorsAndUnknownNamesPointToTheLine) {
  const std::string bad = write("bad.conf", "\nNCCL_CROSS_NIC=maybe\n");
  try {
    const ScopedEnvironment environment{{"NCCL_CONF_FILE", bad}};
    Settings::fromEnvironment();
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), bad + ":2: NCCL_CROSS_NIC: found `maybe`; expected an integer");
  }
  const std::string unknown = write("unknown.conf", "PATH=/bin\nNCCL_BUFSIZE=1\n");
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", unknown}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre("NCCL_BUFSIZE (" + unknown +
                          ":2) is not a variable that Xylem honours; did you mean NCCL_BUFFSIZE?"));
}

TEST_F(SettingsFile, ANamedFileThatIsMissingIsNoted) {
  const ScopedEnvironment environment{{"NCCL_CONF_FILE", directory_ / "none"}};
  EXPECT_THAT(Settings::fromEnvironment().warnings(),
              ElementsAre(HasSubstr("none (environment) cannot be read")));
}

}  // namespace
}  // namespace xylem
