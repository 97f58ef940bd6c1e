// xylem optimize: what it prints, the file it writes, what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string zoo(const std::string& name) { return std::string(XYLEM_SOURCE_DIR) + "/topologies/" + name; }

TEST(OptimizeCommand, PlanTakesTheFile) {
  const ScratchFile scratch("graph.xml", "");
  const std::string file = scratch.path();
  const auto optimized = runCommand({"optimize", zoo("l40sx8-pcie.xml"), "-o", file});
  EXPECT_EQ(optimized.status, 0);
  EXPECT_THAT(optimized.output, HasSubstr("16.00"));
  EXPECT_THAT(optimized.output, HasSubstr(file + " is for NCCL_GRAPH_FILE"));
  const auto planned = runCommand({"plan", zoo("l40sx8-pcie.xml"), "--json"}, {{"NCCL_GRAPH_FILE", file}});
  ASSERT_EQ(planned.status, 0);
  const Json plan = Json::parse(planned.output);
  EXPECT_NEAR(plan["bounds"][0]["ring"]["achieved"].get<double>(), 16, 0.001);
  EXPECT_NEAR(plan["bounds"][0]["ring"]["bandwidth"].get<double>(), 16, 0.001);
}

TEST(OptimizeCommand, Json) {
  const auto run =
      runCommand({"optimize", zoo("l40sx8-pcie.xml"), "--nodes", "2", "--max-channels", "4", "--json"});
  ASSERT_EQ(run.status, 0);
  const Json json = Json::parse(run.output);
  EXPECT_EQ(json["format"], "xylem-optimum-1");
  EXPECT_LE(json["ring"]["graph"]["nChannels"], 4);
  EXPECT_GE(json["ring"]["best"], json["ring"]["found"]);
  EXPECT_FALSE(json["ring"]["bound"]["cut"]["links"].empty());
  EXPECT_THAT(json["graphFile"].get<std::string>(), HasSubstr("<graphs version=\"1\">"));
}

TEST(OptimizeCommand, RefusesHostsOfSeveralKinds) {
  const auto run = runCommand({"optimize", "--host", zoo("dgxa100.xml"), "--host", zoo("dgxh100.xml")});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, HasSubstr("2 kinds of hosts"));
}

}  // namespace
}  // namespace xylem::testing
