// Compares graph files with NCCL's: graphs/NAME.nHOSTS.graph.xml is NCCL's dump of a job on machines
// NAME.xml, byte for byte; graphfile/*.json is the plan that follows from a given *.graph.xml.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "golden/compare.h"
#include "golden/files.h"
#include "planner/plan/graph_dump.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/planner.h"

namespace xylem::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string textOf(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

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
        Settings());
    EXPECT_EQ(plan::graphDump(plan, 0), textOf(file));
  }
}

// The program that wrote the plans asked for NICs at the ends of nodes only. NCCL also takes the network
// between GPUs of a node that P2P and SHM refuse, which a graph file can join.
void leaveOutHopsInsideNodes(json& plan) {
  json& connections = plan["connections"];
  const json& rings = connections["rings"];
  json& ranks = connections["ranks"];
  for (std::size_t channel = 0; channel < rings.size(); ++channel)
    for (std::size_t at = 0; at < rings[channel].size(); ++at) {
      json& from = ranks[rings[channel][at].get<std::size_t>()];
      json& to = ranks[rings[channel][(at + 1) % rings[channel].size()].get<std::size_t>()];
      if (from["node"] != to["node"]) continue;
      from["ringNetSend"][channel] = nullptr;
      to["ringNetRecv"][channel] = nullptr;
    }
}

enum class HopsInsideNodes { kCompare, kLeaveOut };

void checkPlans(const fs::path& directory, HopsInsideNodes hops) {
  const std::vector<fs::path> files = filesIn(directory / "graphfile", ".json");
  ASSERT_FALSE(files.empty()) << directory << " holds no plans of graph files";
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    json expected = json::parse(std::ifstream(file));
    const json input = expected["input"];
    const fs::path graphs = file.parent_path() / input["settings"]["NCCL_GRAPH_FILE"].get<std::string>();
    const Settings settings = Settings::fromPairs({{"NCCL_GRAPH_FILE", graphs.string()}}, "golden");
    plan::PlanRequest request = plan::identicalHosts(
        topology::readTopology(machineOf(file, input["topology"].get<std::string>()).string()),
        input["hosts"].get<int>());
    request.graphFile = search::graphFileOf(settings);
    const plan::Plan plan = plan::planJob(request, settings);
    json actual = json::parse(plan::jsonText(plan::toJson(plan)));
    if (hops == HopsInsideNodes::kLeaveOut)
      for (json* each : {&expected, &actual}) leaveOutHopsInsideNodes(*each);
    EXPECT_EQ(firstDifference(expected, actual).value_or(""), "");
  }
}

TEST(GraphFileGolden, DumpsOfTheZoo) { checkDumps(repositoryGoldens()); }
TEST(GraphFileGolden, PlansOfTheZoo) { checkPlans(repositoryGoldens(), HopsInsideNodes::kCompare); }

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
TEST_F(GraphFileExtraDirectory, Plans) { checkPlans(directory_, HopsInsideNodes::kLeaveOut); }

}  // namespace
}  // namespace xylem::golden
