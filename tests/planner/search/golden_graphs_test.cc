// Compares all graphs of every golden plan (ring, tree, CollNet chain and direct, NVLS), searched one after
// the other on one host, as in a job. Hops, searches, timeouts and steps are compared, too.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/settings.h"
#include "golden/files.h"
#include "planner/paths/job_paths.h"
#include "planner/search/channel_search.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"

namespace xylem::search {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool isSearched(const json& golden) {
  return golden.contains("host") && golden["host"].contains("graphs") &&
         golden["input"].contains("topology") && !golden["input"].value("fuse", false);
}

topology::Document topologyOf(const fs::path& file, const json& input) {
  topology::Document document =
      topology::readTopology(golden::machineOf(file, input["topology"].get<std::string>()).string());
  if (!input.value("collnet", false)) return document;
  for (topology::ElementId id = 0; id < static_cast<topology::ElementId>(document.size()); ++id)
    if (document[id].name == "net" && document.attribute(id, "coll") == nullptr)
      document.set(id, "coll", "1");
  return document;
}

GraphRequest requestOf(GraphKind kind, int ringChannels) {
  constexpr ByGraphKind<Pattern> kPatterns = {Pattern::kRing, Pattern::kBalancedTree, Pattern::kTree,
                                              Pattern::kCollnetDirect, Pattern::kNvls};
  const bool collNet = kind == GraphKind::kCollnetChain || kind == GraphKind::kCollnetDirect;
  GraphRequest request{.id = graphId(kind), .pattern = kPatterns[kind], .collNet = collNet};
  if (kind == GraphKind::kRing) return request;
  const bool asRing = kind == GraphKind::kTree || kind == GraphKind::kCollnetChain;
  request.minChannels = asRing ? ringChannels : 1;
  request.maxChannels = asRing ? ringChannels : paths::kMaxChannels;
  return request;
}

json describe(const ChannelGraph& graph, const topology::System& system, bool headsOnly) {
  int exhausted = 0;
  for (const SearchAttempt& attempt : graph.attempts) exhausted += attempt.exhausted ? 1 : 0;
  json channels = json::array();
  for (int c = 0; c < graph.nChannels; ++c) {
    json ranks = json::array();
    for (int i = 0; i < (headsOnly ? 1 : graph.gpuCount); ++i)
      ranks.push_back(system.gpu(system.node(topology::NodeType::kGpu, graph.gpu(c, i))).rank);
    json channel = {{"ranks", ranks}};
    const auto net = [&](int i) {
      return i < 0 ? "NET/0-0" : system.name(system.node(topology::NodeType::kNet, i));
    };
    if (system.count(topology::NodeType::kNet) > 0)
      channel["nets"] = {net(graph.startNet(c)), net(graph.endNet(c))};
    channels.push_back(channel);
  }
  return {{"pattern", name(graph.pattern)},
          {"crossNic", graph.crossNic},
          {"nChannels", graph.nChannels},
          {"sameChannels", graph.sameChannels ? 1 : 0},
          {"typeIntra", paths::name(graph.typeIntra)},
          {"typeInter", paths::name(graph.typeInter)},
          {"nHops", graph.nHops},
          {"searches", graph.attempts.size()},
          {"timeouts", exhausted},
          {"channels", channels}};
}

// Returns whether a float is the rounded number of a golden plan.
bool near(float mine, const json& expected) {
  return std::fabs(mine - expected.get<double>()) <= 1e-4 * std::max(1e-3, std::fabs(expected.get<double>()));
}

std::string differences(const ChannelGraph& graph, const topology::System& system, bool headsOnly,
                        const json& expected) {
  std::string text;
  const json mine = describe(graph, system, headsOnly);
  for (const auto& [key, value] : mine.items()) {
    // Goldens of newer versions do not tell the effort.
    if (expected.contains(key) && expected[key] != value)
      text += " " + key + ": expected " + expected[key].dump() + ", got " + value.dump();
  }
  if (!near(graph.bwIntra, expected["bwIntra"])) text += " bwIntra " + expected["bwIntra"].dump();
  if (!near(graph.bwInter, expected["bwInter"])) text += " bwInter " + expected["bwInter"].dump();
  if (!near(graph.latencyInter, expected["latencyInter"])) text += " latencyInter";
  return text;
}

void check(const fs::path& file, int& graphs) {
  const json golden = json::parse(std::ifstream(file));
  if (!isSearched(golden)) return;
  const json& input = golden["input"];
  Settings settings;
  for (const auto& [name, value] : input["settings"].items())
    if (const SettingSpec* spec = findSetting(name)) settings.set(*spec, value.get<std::string>(), "golden");
  const auto rules = golden::rulesOf(input);
  const paths::ReachOptions options = paths::ReachOptions::from(settings, *rules);
  const topology::System system =
      topology::buildSystem(topology::completeForJob(topologyOf(file, input), *rules), rules);
  const std::vector<int> domain = paths::domains(system, options);
  const int mine = domain[static_cast<std::size_t>(system.position(system.gpuOfRank(0)))];
  const int ranks = system.count(topology::NodeType::kGpu) * input["hosts"].get<int>();
  const paths::HostPaths host = paths::pathsOfDomain(system, domain, mine, ranks, options);
  const paths::Locality locality(host.system, host.paths);
  HostChannels channels(host.system, host.paths, locality, ChannelOptions::from(settings));
  int ringChannels = 0;
  for (GraphKind kind : kAllGraphKinds) {
    if (!golden["host"]["graphs"].contains(name(kind))) continue;
    const json& expected = golden["host"]["graphs"][name(kind)];
    const ChannelGraph graph = channels.compute(requestOf(kind, ringChannels));
    if (kind == GraphKind::kRing) ringChannels = graph.nChannels;
    EXPECT_EQ(differences(graph, host.system, kind == GraphKind::kNvls, expected), "")
        << file.filename().string() << " " << name(kind);
    // NCCL also counts entries after the budget is used up.
    if (expected.contains("searchSteps")) {
      EXPECT_LE(graph.searchSteps, expected["searchSteps"].get<std::int64_t>()) << name(kind);
    }
    ++graphs;
  }
}

void checkDirectory(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const fs::path folder = entry.path().parent_path().filename();
    if (entry.path().extension() == ".json" && (folder == "own" || folder == "cloud" || folder == "nccl"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << directory << " holds no golden plan";
  int graphs = 0;
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    EXPECT_NO_THROW(check(file, graphs));
  }
  EXPECT_GT(graphs, 0);
  std::printf("%s: %d graphs of %zu plans compared\n", directory.c_str(), graphs, files.size());
}

TEST(GoldenGraphs, Zoo) { checkDirectory(golden::repositoryGoldens()); }

TEST(GoldenGraphs, ExtraDirectory) {
  const char* directory = std::getenv("XYLEM_TEST_GOLDEN");
  if (directory == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory of further golden plans";
  checkDirectory(directory);
}

}  // namespace
}  // namespace xylem::search
