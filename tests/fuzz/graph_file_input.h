#pragma once
// One input of the graph file fuzzer. tests/planner/search/graph_file_test.cc also runs it over the corpus.
// For any bytes, reading them and applying them to a small machine either works or throws InputError, and graphs
// that were applied are the same after writing and reading them.
//
//   feedGraphFile(bytes);   // true if every graph could be applied

#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "planner/paths/job_paths.h"
#include "planner/search/channel_search.h"
#include "planner/search/graph_file.h"
#include "planner_support/machine_text.h"

namespace xylem {

// Two GPUs and a NIC, in a job of two hosts.
inline paths::HostPaths fuzzedHost(const rules::Version& version) {
  const auto rules = rules::rulesOf(version);
  const topology::System system = topology::buildSystem(
      topology::completeForJob(topology::parseTopology(testing::twoGpusOneNic(), "test.xml"), *rules), rules);
  return paths::pathsOfDomain(system, paths::domains(system, {}), 0, 4, {});
}

inline search::HostGraphs loadAll(const paths::HostPaths& host, const search::GraphFile& file, int crossNic) {
  search::HostGraphs graphs;
  for (const search::GraphKind kind : search::kAllGraphKinds) {
    graphs[kind].id = search::graphId(kind);
    search::loadGraph(file, host.system, crossNic, graphs[kind]);
  }
  return graphs;
}

inline void checkChannels(const topology::System& system, const search::ChannelGraph& graph) {
  for (int c = 0; c < graph.nChannels; ++c) {
    for (int i = 0; i < graph.gpuCount; ++i)
      require(graph.gpu(c, i) >= 0 && graph.gpu(c, i) < system.count(topology::NodeType::kGpu));
    require(graph.startNet(c) < system.count(topology::NodeType::kNet));
    require(graph.endNet(c) < system.count(topology::NodeType::kNet));
  }
}

inline void feedSearch(const paths::HostPaths& host, const std::shared_ptr<const search::GraphFile>& file) {
  const paths::Locality locality(host.system, host.paths);
  search::HostChannels channels(host.system, host.paths, locality, {2, file});
  const search::ChannelGraph ring =
      channels.compute({.id = 0, .pattern = search::Pattern::kRing, .minChannels = 1, .maxChannels = 32});
  require(ring.nChannels > 0);
  checkChannels(host.system, ring);
  const int n = ring.nChannels;
  const search::ChannelGraph tree = channels.compute(
      {.id = 1, .pattern = search::Pattern::kBalancedTree, .minChannels = n, .maxChannels = n});
  require(tree.nChannels > 0);
  checkChannels(host.system, tree);
}

// Versions read the ranks in files, or do not.
inline bool feedGraphFile(std::string_view bytes) {
  static const paths::HostPaths kHosts[] = {fuzzedHost(rules::kOldestVersion),
                                            fuzzedHost(rules::kNewestVersion)};
  bool applied = true;
  for (const paths::HostPaths& host : kHosts) {
    try {
      std::vector<std::string> remarks;
      const auto file =
          std::make_shared<const search::GraphFile>(search::parseGraphFile(bytes, "input.xml", &remarks));
      for (const int crossNic : {0, 2}) {
        const search::HostGraphs graphs = loadAll(host, *file, crossNic);
        for (const search::ChannelGraph& graph : graphs) checkChannels(host.system, graph);
        const std::string text = search::writeGraphFile(graphs, host.system);
        const search::HostGraphs again = loadAll(host, search::parseGraphFile(text, "written.xml"), 2);
        require(search::writeGraphFile(again, host.system) == text);
      }
      feedSearch(host, file);
    } catch (const InputError&) {
      applied = false;
    }
  }
  return applied;
}

}  // namespace xylem
