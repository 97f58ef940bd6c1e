// Compares descriptions of hosts by their ranks with NCCL 2.25.1's: the fused texts of
// $XYLEM_TEST_GOLDEN/fused, and the order of nodes and links for the lists of GPUs of mixed jobs
// (CONTRIBUTING.md explains the goldens).

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "planner/topology/complete.h"
#include "planner/topology/fuse.h"
#include "planner/topology/system_builder.h"
#include "planner_support/rules.h"

namespace xylem::topology {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST(RankDescriptionsGolden, GivesWhatNcclFused) {
  const char* golden = std::getenv("XYLEM_TEST_GOLDEN");
  if (golden == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN does not name the directory of goldens";
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(golden) / "fused")) {
    if (entry.path().extension() != ".xml") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Document machine = readTopology(fs::path(golden) / "own" / entry.path().filename());
    EXPECT_EQ(writeTopology(describeAsRanksWould(machine, *testing::rules225())),
              writeTopology(readTopology(entry.path())));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// The nodes and links of a golden plan in its order; NCCL's trimming has removed some.
std::vector<std::string> nodesOf(const json& host) {
  std::vector<std::string> names;
  for (const json& node : host["nodes"]) names.push_back(node["name"]);
  return names;
}

std::vector<std::string> linksOf(const json& host) {
  std::vector<std::string> links;
  for (const json& link : host["links"])
    links.push_back(link["from"].get<std::string>() + " " + link["to"].get<std::string>());
  return links;
}

std::vector<std::string> onlyThoseIn(std::vector<std::string> names, const std::vector<std::string>& wanted) {
  std::erase_if(names, [&](const std::string& name) {
    return std::find(wanted.begin(), wanted.end(), name) == wanted.end();
  });
  return names;
}

void checkHost(const fs::path& golden, const json& host) {
  const std::string name = host["topology"];
  fs::path file = golden / "own" / name;
  if (!fs::exists(file)) file = golden / "cloud" / name;
  const auto gpus = host["gpus"].get<std::vector<int>>();
  const System system =
      buildSystem(completeForJob(describeAsRanksWould(readTopology(file), gpus, *testing::rules225()),
                                 *testing::rules225()),
                  testing::rules225());
  std::vector<std::string> nodes, links;
  for (const NodeType type : kAllNodeTypes)
    for (const NodeId node : system.nodes(type)) {
      nodes.push_back(system.name(node));
      for (const Link& link : system.links(node))
        links.push_back(system.name(node) + " " + system.name(link.to));
    }
  const std::vector<std::string> expected = nodesOf(host);
  EXPECT_EQ(onlyThoseIn(nodes, expected), expected);
  EXPECT_EQ(onlyThoseIn(links, linksOf(host)), linksOf(host));
  for (const NodeId gpu : system.nodes(NodeType::kGpu))
    EXPECT_EQ(system.gpu(gpu).dev, gpus[static_cast<std::size_t>(system.gpu(gpu).rank)]);
}

TEST(RankDescriptionsGolden, ListsOfGpusGiveNcclsOrder) {
  const char* golden = std::getenv("XYLEM_TEST_GOLDEN");
  if (golden == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN does not name the directory of goldens";
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(golden) / "mixed")) {
    const std::string name = entry.path().filename().string();
    if (name.find('@') == std::string::npos || entry.path().extension() != ".json") continue;
    SCOPED_TRACE(name);
    const json plan = json::parse(std::ifstream(entry.path()));
    for (std::size_t i = 0; i < plan["input"]["jobs"].size(); ++i) {
      const json& host = plan["hosts"][i];
      if (plan["input"]["jobs"][i]["gpus"].is_null() || !host.contains("nodes")) continue;
      checkHost(golden, host);
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace xylem::topology
