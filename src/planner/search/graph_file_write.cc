#include <fmt/format.h>

#include "planner/search/graph_file.h"
#include "planner/topology/xml.h"

namespace xylem::search {
namespace {

// NCCL's order in files. It computes them in another one.
constexpr GraphKind kOrder[] = {GraphKind::kRing, GraphKind::kTree, GraphKind::kCollnetDirect,
                                GraphKind::kCollnetChain, GraphKind::kNvls};

// The pattern NCCL asks for, which it writes of graphs that it does not compute.
Pattern requestedPattern(GraphKind kind) {
  constexpr ByGraphKind<Pattern> kPatterns = {Pattern::kRing, Pattern::kBalancedTree, Pattern::kTree,
                                              Pattern::kCollnetDirect, Pattern::kNvls};
  return kPatterns[kind];
}

class Writer {
 public:
  Writer(topology::Document& document, const topology::System& system, const topology::RankNames& names)
      : document_(document), system_(system), names_(names), hasNets_(system.usesNets()) {}

  void add(GraphKind kind, const ChannelGraph& graph) {
    const bool computed = graph.gpuCount > 0;
    const topology::ElementId element = document_.add(document_.root(), "graph");
    const auto set = [&](const char* name, const auto& value) {
      document_.set(element, name, fmt::format("{}", value));
    };
    const auto setNumber = [&](const char* name, double value) {
      document_.set(element, name, fmt::format("{:g}", value));
    };
    set("id", graphId(kind));
    set("pattern", static_cast<int>(computed ? graph.pattern : requestedPattern(kind)));
    set("crossnic", graph.crossNic);
    set("nchannels", graph.nChannels);
    setNumber("speedintra", graph.bwIntra);
    setNumber("speedinter", graph.bwInter);
    setNumber("latencyinter", graph.latencyInter);
    set("typeintra", typeText(kind, graph.typeIntra));
    set("typeinter", typeText(kind, graph.typeInter));
    set("samechannels", graph.sameChannels ? 1 : 0);
    // A channel of the NVLS graph has a head; the rest of it means nothing.
    const int gpus = kind == GraphKind::kNvls ? 1 : graph.gpuCount;
    for (int c = 0; c < graph.nChannels; ++c) addChannel(element, graph, c, gpus);
  }

 private:
  void addChannel(topology::ElementId graphElement, const ChannelGraph& graph, int c, int gpus) {
    const topology::ElementId channel = document_.add(graphElement, "channel");
    const auto add = [&](const char* name, std::uint64_t id) {
      const topology::ElementId element = document_.add(channel, name);
      document_.set(element, "dev", deviceText(id));
      return element;
    };
    if (hasNets_) add("net", netId(graph.startNet(c)));
    for (int i = 0; i < gpus; ++i) {
      const topology::NodeId gpu = system_.node(topology::NodeType::kGpu, graph.gpu(c, i));
      const topology::ElementId element = add("gpu", gpuFileId(system_, gpu));
      if (system_.rules().graphFilesNameRanks)
        document_.set(element, "rank", fmt::format("{}", names_(system_, gpu)));
    }
    if (hasNets_) add("net", netId(graph.endNet(c)));
  }

  std::uint64_t netId(int net) const {
    return net < 0 ? 0 : system_[system_.node(topology::NodeType::kNet, net)].key.value;
  }

  static const char* typeText(GraphKind kind, paths::PathType type) {
    if (type > paths::PathType::kSys || type == paths::PathType::kC2c)
      throw Error(ResultCode::kInvalidUsage,
                  "the {} graph uses paths of type {}: graph files have no word for it", name(kind),
                  paths::name(type));
    return paths::name(type);
  }

  topology::Document& document_;
  const topology::System& system_;
  const topology::RankNames& names_;
  bool hasNets_;
};

}  // namespace

std::string writeGraphFile(const HostGraphs& graphs, const topology::System& system,
                           const topology::RankNames& names) {
  topology::Document document("(graphs)", 0, "graphs");
  Writer writer(document, system, names);
  for (const GraphKind kind : kOrder) writer.add(kind, graphs[kind]);
  if (const std::size_t most = system.rules().maxGraphFileElements; document.size() > most)
    throw Error(ResultCode::kInvalidUsage,
                "the graphs of {} GPUs make a file of {} elements: a graph file has at most {}",
                system.count(topology::NodeType::kGpu), document.size(), most);
  return topology::writeXmlDocument(document);
}

std::string deviceText(std::uint64_t id) { return id == 0 ? "0" : fmt::format("{:#x}", id); }

std::uint64_t gpuFileId(const topology::System& system, topology::NodeId gpu) {
  return topology::NodeKey::of(system[gpu].key.system(), static_cast<std::uint64_t>(system.gpu(gpu).dev))
      .value;
}

}  // namespace xylem::search
