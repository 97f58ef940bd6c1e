// xylem tune: the choice per size, as text and as JSON.
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
  const Outcome run = runCommand({"tune", host.path()}, {{"NCCL_DEBUG", "INFO"}});
  EXPECT_THAT(run.output, HasSubstr("NCCL INFO threadThresholds 8/8/64 | 16/8/64 | 512 | 512"));
}

}  // namespace
}  // namespace xylem::testing
