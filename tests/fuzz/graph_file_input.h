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
inline const paths::HostPaths& fuzzedHost() {
  static const paths::HostPaths host = [] {
    const topology::System system = testing::systemOf(testing::twoGpusOneNic());
    return paths::pathsOfDomain(system, paths::domains(system, {}), 0, 4, {});
  }();
  return host;
}

inline search::HostGraphs loadAll(const search::GraphFile& file, int crossNic) {
  search::HostGraphs graphs;
  for (const search::GraphKind kind : search::kAllGraphKinds) {
    graphs[kind].id = search::graphId(kind);
    search::loadGraph(file, fuzzedHost().system, crossNic, graphs[kind]);
  }
  return graphs;
}

inline void checkChannels(const search::ChannelGraph& graph) {
  const topology::System& system = fuzzedHost().system;
  for (int c = 0; c < graph.nChannels; ++c) {
    for (int i = 0; i < graph.gpuCount; ++i)
      require(graph.gpu(c, i) >= 0 && graph.gpu(c, i) < system.count(topology::NodeType::kGpu));
    require(graph.startNet(c) < system.count(topology::NodeType::kNet));
    require(graph.endNet(c) < system.count(topology::NodeType::kNet));
  }
}

inline void feedSearch(const std::shared_ptr<const search::GraphFile>& file) {
  const paths::HostPaths& host = fuzzedHost();
  const paths::Locality locality(host.system, host.paths);
  search::HostChannels channels(host.system, host.paths, locality, {2, file});
  const search::ChannelGraph ring =
      channels.compute({.id = 0, .pattern = search::Pattern::kRing, .minChannels = 1, .maxChannels = 32});
  require(ring.nChannels > 0);
  checkChannels(ring);
  const int n = ring.nChannels;
  const search::ChannelGraph tree = channels.compute(
      {.id = 1, .pattern = search::Pattern::kBalancedTree, .minChannels = n, .maxChannels = n});
  require(tree.nChannels > 0);
  checkChannels(tree);
}

inline bool feedGraphFile(std::string_view bytes) {
  try {
    std::vector<std::string> remarks;
    const auto file =
        std::make_shared<const search::GraphFile>(search::parseGraphFile(bytes, "input.xml", &remarks));
    for (const int crossNic : {0, 2}) {
      const search::HostGraphs graphs = loadAll(*file, crossNic);
      for (const search::ChannelGraph& graph : graphs) checkChannels(graph);
      const std::string text = search::writeGraphFile(graphs, fuzzedHost().system);
      const search::HostGraphs again = loadAll(search::parseGraphFile(text, "written.xml"), 2);
      require(search::writeGraphFile(again, fuzzedHost().system) == text);
    }
    feedSearch(file);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
