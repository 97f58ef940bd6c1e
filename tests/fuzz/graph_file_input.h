#pragma once
// One input of the graph file fuzzer. tests/planner/search/graph_file_test.cc also runs it over the corpus.
// Whatever the bytes are, reading them and applying them to a small machine either works or throws InputError,
// and graphs that were applied are the same after writing and reading them.
//
//   feedGraphFile(bytes);   // true if every graph could be applied

#include <string>
#include <string_view>

#include "planner/search/channel_search.h"
#include "planner/search/graph_file.h"
#include "fuzz/require.h"
#include "planner/paths/job_paths.h"
#include "planner_support/machine_text.h"

namespace xylem {

// Two GPUs and a NIC, in a job of two hosts.
inline const HostPaths& fuzzedHost() {
  static const HostPaths host = [] {
    const System system = testing::systemOf(testing::twoGpusOneNic());
    return pathsOfDomain(system, domains(system, {}), 0, 4, {});
  }();
  return host;
}

inline HostGraphs loadAll(const GraphFile& file, int crossNic) {
  HostGraphs graphs;
  for (const GraphKind kind : kAllGraphKinds) {
    graphs[kind].id = graphId(kind);
    loadGraph(file, fuzzedHost().system, crossNic, graphs[kind]);
  }
  return graphs;
}

inline void checkChannels(const ChannelGraph& graph) {
  const System& system = fuzzedHost().system;
  for (int c = 0; c < graph.nChannels; ++c) {
    for (int i = 0; i < graph.gpuCount; ++i)
      require(graph.gpu(c, i) >= 0 && graph.gpu(c, i) < system.count(NodeType::kGpu));
    require(graph.startNet(c) < system.count(NodeType::kNet));
    require(graph.endNet(c) < system.count(NodeType::kNet));
  }
}

inline void feedSearch(const std::shared_ptr<const GraphFile>& file) {
  const HostPaths& host = fuzzedHost();
  const Locality locality(host.system, host.paths);
  HostChannels channels(host.system, host.paths, locality, {2, file});
  const ChannelGraph ring =
      channels.compute({.id = 0, .pattern = Pattern::kRing, .minChannels = 1, .maxChannels = 32});
  require(ring.nChannels > 0);
  checkChannels(ring);
  const int n = ring.nChannels;
  const ChannelGraph tree =
      channels.compute({.id = 1, .pattern = Pattern::kBalancedTree, .minChannels = n, .maxChannels = n});
  require(tree.nChannels > 0);
  checkChannels(tree);
}

inline bool feedGraphFile(std::string_view bytes) {
  try {
    std::vector<std::string> remarks;
    const auto file = std::make_shared<const GraphFile>(parseGraphFile(bytes, "input.xml", &remarks));
    for (const int crossNic : {0, 2}) {
      const HostGraphs graphs = loadAll(*file, crossNic);
      for (const ChannelGraph& graph : graphs) checkChannels(graph);
      const std::string text = writeGraphFile(graphs, fuzzedHost().system);
      const HostGraphs again = loadAll(parseGraphFile(text, "written.xml"), 2);
      require(writeGraphFile(again, fuzzedHost().system) == text);
    }
    feedSearch(file);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
