// xylem tune --calibrate: that it ends, that its line can be used, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CalibrateCommandTest, PrintsConstantsChoicesAndTheVariable) {
  const Outcome run = runCommand({"tune", "--calibrate", "--rounds", "1"});
  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("ll128.hop"), HasSubstr("16 MiB"), HasSubstr("The model chooses"),
                                HasSubstr("\nXYLEM_HOST_MODEL=launch=")));
  const std::size_t at = run.output.find("XYLEM_HOST_MODEL=") + std::string("XYLEM_HOST_MODEL=").size();
  const std::string value = run.output.substr(at, run.output.find('\n', at) - at);
  const ScratchFile host("host.xml", smallHost());
  EXPECT_EQ(runCommand({"tune", host.path()}, {{"XYLEM_HOST_MODEL", value}}).status, 0) << value;
}

TEST(CalibrateCommandTest, JsonHasWhatWasMeasured) {
  const Outcome run =
      runCommand({"tune", "--calibrate", "--rounds", "1", "--json"}, {{"NCCL_DEBUG", "INFO"}});
  ASSERT_EQ(run.status, 0) << run.errors;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["format"], "xylem-calibration-1");
  EXPECT_EQ(json["constants"].size(), 9u);
  for (const auto& [name, constant] : json["constants"].items()) EXPECT_GT(constant["value"], 0) << name;
  ASSERT_EQ(json["sizes"].size(), 22u);
  for (const auto& size : json["sizes"])
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      EXPECT_GT(size["measured"][protocol], 0);
      EXPECT_GT(size["predicted"][protocol], 0);
    }
}

TEST(CalibrateCommandTest, RefusesWhatMakesNoSense) {
  const ScratchFile host("host.xml", smallHost());
  EXPECT_EQ(runCommand({"tune", "--calibrate", host.path()}).status, 2);
  EXPECT_EQ(runCommand({"tune", "--calibrate", "--sizes", "8"}).status, 2);
  EXPECT_EQ(runCommand({"tune", "--calibrate", "--rounds", "0"}).status, 2);
  EXPECT_EQ(runCommand({"tune", host.path(), "--rounds", "3"}).status, 2);
}

}  // namespace
}  // namespace xylem::testing
