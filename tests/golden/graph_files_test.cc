// Compares graph files with NCCL's: graphs/NAME.nHOSTS.graph.xml is NCCL's dump of a job on machines
// NAME.xml, byte for byte; graphfile/*.json is the plan that follows from a given *.graph.xml.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "golden/compare.h"
#include "golden/files.h"
#include "planner/plan/graph_dump.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/planner.h"
#include "planner_support/rules.h"

namespace xylem::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<fs::path> filesIn(const fs::path& folder, const std::string& end) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(end)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void checkDumps(const fs::path& directory) {
  const std::vector<fs::path> files = filesIn(directory / "graphs", ".graph.xml");
  ASSERT_FALSE(files.empty()) << directory << " holds no dumped graphs";
  static const std::regex kName(R"((.*)\.n(\d+)\.graph\.xml)");
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    SCOPED_TRACE(name);
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(name, parts, kName));
    const plan::Plan plan = plan::planJob(
        plan::identicalHosts(topology::readTopology(machineOf(file, parts[1].str() + ".xml").string()),
                             std::stoi(parts[2])),
        testing::settings225());
    EXPECT_EQ(plan::graphDump(plan, 0), textOf(file));
  }
}

void checkPlans(const fs::path& directory) {
  const std::vector<fs::path> files = filesIn(directory / "graphfile", ".json");
  ASSERT_FALSE(files.empty()) << directory << " holds no plans of graph files";
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const json expected = json::parse(std::ifstream(file));
    const json& input = expected["input"];
    const fs::path graphs = file.parent_path() / input["settings"]["NCCL_GRAPH_FILE"].get<std::string>();
    const Settings settings = testing::settings225({{"NCCL_GRAPH_FILE", graphs.string()}});
    plan::PlanRequest request = plan::identicalHosts(
        topology::readTopology(machineOf(file, input["topology"].get<std::string>()).string()),
        input["hosts"].get<int>());
    request.graphFile = search::graphFileOf(settings);
    const plan::Plan plan = plan::planJob(request, settings);
    EXPECT_EQ(firstDifference(expected, json::parse(plan::jsonText(plan::toJson(plan)))).value_or(""), "");
  }
}

TEST(GraphFileGolden, DumpsOfTheZoo) { checkDumps(repositoryGoldens()); }
TEST(GraphFileGolden, PlansOfTheZoo) { checkPlans(repositoryGoldens()); }

class GraphFileExtraDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("XYLEM_TEST_GOLDEN");
    if (named == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory of further goldens";
    directory_ = named;
    if (!fs::exists(directory_ / "graphs") || !fs::exists(directory_ / "graphfile"))
      GTEST_SKIP() << named << " has no graphs/ and graphfile/";
  }
  fs::path directory_;
};

TEST_F(GraphFileExtraDirectory, Dumps) { checkDumps(directory_); }
TEST_F(GraphFileExtraDirectory, Plans) { checkPlans(directory_); }

}  // namespace
}  // namespace xylem::golden
