#include "insight/optimum/cut_bound.h"

#include <lemon/preflow.h>
#include <lemon/smart_graph.h>

#include <cmath>

namespace xylem {
namespace {

using Graph = lemon::SmartDigraph;
using Flow = lemon::Preflow<Graph, Graph::ArcMap<std::int64_t>>;

// Flows are counted in thousandths of a GB/s, rounded up.
constexpr double kUnitsPerGBs = 1000.0;
// More than all links of any machine together.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 50;

class Cutter {
 public:
  Cutter(const System& system, bool bothWays) : system_(system), bothWays_(bothWays), capacity_(graph_) {
    for (int i = 0; i <= system.nodeCount(); ++i) graph_.addNode();
    for (const Link& link : system.links()) {
      const auto milli =
          static_cast<std::int64_t>(std::ceil(static_cast<double>(link.bandwidth) * kUnitsPerGBs - 1e-3));
      add(link.from, link.to, milli);
      if (bothWays) add(link.to, link.from, milli);
    }
    for (const NodeId net : system.nodes(NodeType::kNet)) {
      add(net, network(), kUnlimited);
      add(network(), net, kUnlimited);
    }
  }

  // The node after all others.
  NodeId network() const { return system_.nodeCount(); }

  // Keeps the smallest cut of all that were tried.
  void cut(NodeId from, NodeId to) {
    Flow flow(graph_, capacity_, Graph::nodeFromId(from), Graph::nodeFromId(to));
    flow.runMinCut();
    if (best_ && flow.flowValue() >= bestFlow_) return;
    bestFlow_ = flow.flowValue();
    best_ = read(flow);
  }
  const std::optional<Cut>& best() const { return best_; }

 private:
  void add(NodeId from, NodeId to, std::int64_t milli) {
    capacity_[graph_.addArc(Graph::nodeFromId(from), Graph::nodeFromId(to))] = milli;
  }

  Cut read(const Flow& flow) const {
    Cut cut;
    cut.bothWays = bothWays_;
    const auto near = [&](NodeId node) { return flow.minCut(Graph::nodeFromId(node)); };
    const auto links = system_.links();
    for (std::size_t i = 0; i < links.size(); ++i) {
      const bool leaves = near(links[i].from) && !near(links[i].to);
      const bool enters = !near(links[i].from) && near(links[i].to);
      if (!leaves && !(bothWays_ && enters)) continue;
      cut.links.push_back(static_cast<LinkId>(i));
      cut.bandwidth += static_cast<double>(links[i].bandwidth);
    }
    for (const NodeId gpu : system_.nodes(NodeType::kGpu))
      (near(gpu) ? cut.near : cut.far).push_back(system_.position(gpu));
    cut.networkNear = system_.count(NodeType::kNet) > 0 && near(network());
    return cut;
  }

  const System& system_;
  bool bothWays_;
  Graph graph_;
  Graph::ArcMap<std::int64_t> capacity_;
  std::optional<Cut> best_;
  std::int64_t bestFlow_ = 0;
};

}  // namespace

std::optional<Cut> smallestCut(const System& system, Pattern pattern) {
  const auto gpus = system.nodes(NodeType::kGpu);
  const bool nets = system.count(NodeType::kNet) > 0;
  const bool ring = pattern == Pattern::kRing;
  // A chain that starts at a NET crosses the cuts around the network in one direction, others in either.
  Cutter cutter(system, !ring && !nets);
  const NodeId origin = nets ? cutter.network() : *gpus.begin();
  for (const NodeId gpu : gpus) {
    if (gpu == origin) continue;
    cutter.cut(origin, gpu);
    if (ring) cutter.cut(gpu, origin);
  }
  return cutter.best();
}

}  // namespace xylem
