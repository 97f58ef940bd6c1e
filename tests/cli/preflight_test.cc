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

// The text of a description with another name for its NICs.
std::string withNics(const std::string& file, const std::string& from, const std::string& to) {
  std::string text = contentsOf(file);
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(PreflightCommandTest, NamesHostsWhoseNetworksDoNotConnect) {
  const ScratchFile sockets("sockets.xml", withNics(kA100, "\"mlx5_", "\"eth"));
  const Outcome run = runCommand({"preflight", "--host", kA100, "--host", sockets.path() + ":2"});
  EXPECT_EQ(run.status, 1) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("cannot connect its hosts: RDMA does not connect to sockets"),
                                HasSubstr("Networks that do not connect"), HasSubstr("NCCL_IB_DISABLE=1")));
  const Outcome plan = runCommand({"plan", "--host", kA100, "--host", sockets.path()});
  EXPECT_THAT(plan.errors, HasSubstr("some use RDMA, others sockets"));
  // Xylem's own network is the same everywhere.
  EXPECT_EQ(runCommand({"preflight", "--host", kA100, "--host", sockets.path(), "--rules", "xylem"}).status,
            0);
}

TEST(PreflightCommandTest, TellsInfiniBandFromEthernetByThePciClass) {
  const ScratchFile ethernet("ethernet.xml", withNics(kA100, "class=\"0x020700\"", "class=\"0x020000\""));
  const Outcome run = runCommand({"preflight", "--host", kA100, "--host", ethernet.path()});
  EXPECT_EQ(run.status, 1) << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("InfiniBand does not connect to RDMA over Ethernet"), HasSubstr("LINK_TYPE_P1"),
                    HasSubstr("0x0207 or 0x0200"), HasSubstr("8 x 25.0 GB/s, RDMA over Ethernet")));
  EXPECT_THAT(runCommand({"plan", "--host", kA100, "--host", ethernet.path()}).errors,
              HasSubstr("some use InfiniBand, others RDMA over Ethernet"));
  // A host that has both may use either.
  std::string text = contentsOf(kA100);
  const std::string infiniBand = "class=\"0x020700\"";
  text.replace(text.find(infiniBand), infiniBand.size(), "class=\"0x020000\"");
  const ScratchFile both("both.xml", text);
  const Outcome mixed = runCommand({"preflight", "--host", both.path(), "--host", ethernet.path()});
  EXPECT_EQ(mixed.status, 0);
  EXPECT_THAT(mixed.output, HasSubstr("leave those of one of them out on all hosts (NCCL_IB_HCA)"));
  // Names of InfiniBand's devices and of its interfaces are alike: the port tells.
  const ScratchFile renamed("renamed.xml", withNics(kA100, "\"mlx5_", "\"ibp1s"));
  EXPECT_EQ(runCommand({"preflight", "--host", kA100, "--host", renamed.path()}).status, 0);
}

TEST(PreflightCommandTest, ComparesNamesAndOrderOfNics) {
  const ScratchFile renamed("renamed.xml", withNics(kA100, "\"mlx5_", "\"mlx5_1"));
  const Outcome run = runCommand({"preflight", "--host", kA100, "--host", renamed.path()});
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("mlx5_0-7"), HasSubstr("mlx5_10-17"), HasSubstr("are on one rail")));
  EXPECT_THAT(run.output, HasSubstr("all ranks decide alike, though their hosts differ"));
  // Two cards have changed places: names and rings tell by the NICs' numbers.
  std::string text = contentsOf(kA100);
  const std::size_t third = text.find("\"mlx5_2\" dev=\"2\""), sixth = text.find("\"mlx5_5\" dev=\"5\"");
  ASSERT_LT(third, sixth);
  ASSERT_NE(sixth, std::string::npos);
  text[third + 14] = '5';
  text[sixth + 14] = '2';
  const ScratchFile swapped("swapped.xml", text);
  const Outcome numbers = runCommand({"preflight", "--host", kA100, "--host", swapped.path()});
  EXPECT_THAT(numbers.output,
              AllOf(HasSubstr("mlx5_0-1, mlx5_5, mlx5_3-4, mlx5_2, mlx5_6-7"), HasSubstr("0 1 5 3 4 2 6 7")));
  const Outcome other = runCommand({"preflight", "--host", kH100, "--host", kA100});
  EXPECT_THAT(other.output, AllOf(HasSubstr("NIC of each"), HasSubstr("0 1 2 3 4 5 6 7")));
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
