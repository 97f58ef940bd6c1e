// xylem tune: the choice per size, as text and as JSON, and the calibration of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(TuneCommandTest, TellsTheChoiceTheTimeAndTheRunnerUp) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"tune", host.path(), "--nodes", "2"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(run.output,
              AllOf(StartsWith("4 ranks on 2 hosts of "), HasSubstr("AllReduce\n"), HasSubstr("8 GiB"),
                    HasSubstr("Ring       LL"), HasSubstr("x\n"), HasSubstr("NVLS needs NVLink multicast")));
}

TEST(TuneCommandTest, TakesSizes) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"tune", host.path(), "--sizes", "64K,1.5M"});
  EXPECT_THAT(run.output, AllOf(HasSubstr("64 KiB"), HasSubstr("1536 KiB"), Not(HasSubstr("8 GiB"))));
  const Outcome bad = runCommand({"tune", host.path(), "--sizes", "64K,many"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.errors, AllOf(HasSubstr("--sizes"), HasSubstr("`many`")));
}

TEST(TuneCommandTest, SettingsChangeTheChoiceAndMayLeaveNone) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run =
      runCommand({"tune", host.path(), "--nodes", "2"}, {{"NCCL_ALGO", "AllReduce:Tree;reduce:PAT"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("set: NCCL_ALGO="), HasSubstr("nothing can run it"),
                                HasSubstr("leaves out Ring")));
  const Outcome bad = runCommand({"tune", host.path()}, {{"NCCL_ALGO", "Rong"}});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.errors, AllOf(HasSubstr("NCCL_ALGO"), HasSubstr("`Rong`")));
}

TEST(TuneCommandTest, JsonHasEveryCandidateAndReason) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"tune", host.path(), "--nodes", "2", "--sizes", "8,1M", "--json"});
  EXPECT_EQ(run.status, 0) << run.errors;
  const auto tuning = nlohmann::json::parse(run.output)["tuning"];
  const auto& choice = tuning["choice"]["AllReduce"][1];
  EXPECT_EQ(choice["bytes"], 1 << 20);
  EXPECT_EQ(choice["candidates"].size() + choice["excluded"].size(), 21u);
  EXPECT_EQ(choice["candidates"][0]["algorithm"], choice["algorithm"]);
  EXPECT_GT(tuning["model"]["AllReduce"]["Ring"]["Simple"]["bandwidth"], 0);
  EXPECT_EQ(tuning["threadThresholds"]["Ring"], (std::vector<int>{32, 8, 64}));
}

TEST(TuneCommandTest, LogsAsNcclDoesWhenAsked) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"tune", host.path(), "-n", "1"}, {{"NCCL_DEBUG", "INFO"}});
  EXPECT_THAT(run.output, HasSubstr("NCCL INFO threadThresholds 8/8/64 | 16/8/64 | 512 | 512"));
}

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
  const ScratchFile cache("unused", "");
  const Outcome run = runCommand({"tune", "--calibrate", "--rounds", "1", "--json"},
                                 {{"NCCL_DEBUG", "INFO"}, {"XDG_CACHE_HOME", cache.folder()}});
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
  for (const auto& copies : json["copies"]) {
    SCOPED_TRACE(copies["cores"]);
    if (copies.contains("problem")) {
      EXPECT_THAT(copies["problem"].get<std::string>(),
                  AnyOf(HasSubstr("time ran out"), StartsWith("no file"), HasSubstr("cannot run on core")));
      continue;
    }
    EXPECT_FALSE(copies["times"].empty());
    const auto file = copies["file"].get<std::string>();
    EXPECT_THAT(file, StartsWith(cache.folder().string()));
    auto choices = copies["XYLEM_COPY_CHOICES"].get<std::string>();
    std::replace(choices.begin(), choices.end(), ',', ' ');
    EXPECT_THAT(contentsOf(file),
                HasSubstr("\t" + copies["cores"].get<std::string>() + "\t10\t" + choices + "\t"));
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
