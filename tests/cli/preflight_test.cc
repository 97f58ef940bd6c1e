// xylem preflight: what it prints for jobs that hang and jobs that do not, and its exit statuses.
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

const std::string kZoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";
// A version whose ranks disagree where hosts differ.
const std::string kOld = "2.25.1";
const std::string kH100 = kZoo + "dgxh100.xml";
const std::string kA100 = kZoo + "dgxa100.xml";

TEST(PreflightCommandTest, SaysWhatHangsWhyAndWhatAvoidsIt) {
  const Outcome run = runCommand({"preflight", "--host", kH100, "--host", kA100, "--nccl", kOld});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(run.output, AllOf(HasSubstr("would hang"), HasSubstr("131072-156705"), HasSubstr("Ring/LL"),
                                HasSubstr("BALANCED_TREE"), HasSubstr("NCCL_ALGO=^Tree")));
}

TEST(PreflightCommandTest, WhatItProposesHelps) {
  const Outcome run =
      runCommand({"preflight", "--host", kH100, "--host", kA100, "--nccl", kOld}, {{"NCCL_ALGO", "^Tree"}});
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("all ranks decide alike"), HasSubstr("no LL128"),
                                Not(HasSubstr("would hang"))));
}

TEST(PreflightCommandTest, XylemsOwnRanksAgree) {
  const Outcome run = runCommand({"preflight", "--host", kH100, "--host", kA100, "--rules", "xylem"});
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("all ranks agree"));
}

TEST(PreflightCommandTest, EqualHostsAreFine) {
  const Outcome run = runCommand({"preflight", kH100, "--nodes", "4"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("32 ranks on 4 hosts: all ranks decide alike"));
}

TEST(PreflightCommandTest, NamesHostsWithoutNics) {
  const Outcome run =
      runCommand({"preflight", "--host", kZoo + "gpu1-nonic.xml", "--host", kZoo + "gpu1-nic1.xml"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("Without a usable NIC"), HasSubstr("gpu1-nonic, hosts 0, ranks 0")));
}

TEST(PreflightCommandTest, RanksOfManyHostsAreShortened) {
  const Outcome run = runCommand({"preflight", "--host", kH100 + ":1000", "--host", kA100 + ":1000",
                                  "--ranks", "round-robin", "--nccl", kOld});
  EXPECT_EQ(run.status, 1) << run.errors;
  EXPECT_LT(run.output.size(), 10000u);
}

TEST(PreflightCommandTest, JsonIsJson) {
  const Outcome run =
      runCommand({"preflight", "--host", kH100, "--host", kA100 + ":2", "--nccl", kOld, "--json"});
  EXPECT_EQ(run.status, 1);
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["format"], "xylem-preflight-1");
  EXPECT_EQ(json["fine"], false);
  EXPECT_EQ(json["kinds"][1]["name"], "dgxa100");
  EXPECT_EQ(json["kinds"][1]["ranks"], nlohmann::json({{8, 23}}));
  EXPECT_EQ(json["causes"][0]["value"], "treePattern");
  EXPECT_EQ(json["collectives"][0]["byKind"].size(), 2u);
  EXPECT_FALSE(json["remedies"]["found"].empty());
}

TEST(PreflightCommandTest, RefusesWhatItCannotRead) {
  EXPECT_EQ(runCommand({"preflight", "--host", "no/such/file.xml"}).status, 2);
  EXPECT_EQ(runCommand({"preflight"}).status, 2);
}

}  // namespace
}  // namespace xylem::testing
