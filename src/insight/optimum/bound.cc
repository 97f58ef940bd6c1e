#include <lemon/preflow.h>
#include <lemon/smart_graph.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "insight/optimum/optimum.h"
#include "insight/optimum/packing.h"
#include "planner/paths/locality.h"

namespace xylem::optimum {
namespace {

using Graph = lemon::SmartDigraph;
using Flow = lemon::Preflow<Graph, Graph::ArcMap<std::int64_t>>;

// Capacities are integers: thousandths of a GB/s, rounded up so that the bound stays an upper bound.
constexpr double kUnitsPerGBs = 1000.0;
// Greater than the sum of all links of any machine.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 50;

// Finds minimum cuts as maximum flows (push-relabel). One extra node stands for the network and joins all
// NETs.
class Cutter {
 public:
  Cutter(const topology::System& system, bool bothWays)
      : system_(system), bothWays_(bothWays), capacity_(graph_) {
    for (int i = 0; i <= system.nodeCount(); ++i) graph_.addNode();
    for (const topology::Link& link : system.links()) {
      const auto milli =
          static_cast<std::int64_t>(std::ceil(static_cast<double>(link.bandwidth) * kUnitsPerGBs - 1e-3));
      add(link.from, link.to, milli);
      if (bothWays) add(link.to, link.from, milli);
    }
    if (!system.usesNets()) return;
    for (const topology::NodeId net : system.nodes(topology::NodeType::kNet)) {
      add(net, network(), kUnlimited);
      add(network(), net, kUnlimited);
    }
  }

  // The network's node, numbered after those of the system.
  topology::NodeId network() const { return system_.nodeCount(); }

  // Finds the smallest cut between two nodes, and keeps it if it is smaller than all before.
  void cut(topology::NodeId from, topology::NodeId to) {
    Flow flow(graph_, capacity_, Graph::nodeFromId(from), Graph::nodeFromId(to));
    flow.runMinCut();
    if (best_ && flow.flowValue() >= bestFlow_) return;
    bestFlow_ = flow.flowValue();
    best_ = read(flow);
  }
  const std::optional<Cut>& best() const { return best_; }

 private:
  void add(topology::NodeId from, topology::NodeId to, std::int64_t milli) {
    capacity_[graph_.addArc(Graph::nodeFromId(from), Graph::nodeFromId(to))] = milli;
  }

  Cut read(const Flow& flow) const {
    Cut cut;
    cut.bothWays = bothWays_;
    const auto near = [&](topology::NodeId node) { return flow.minCut(Graph::nodeFromId(node)); };
    const auto links = system_.links();
    for (std::size_t i = 0; i < links.size(); ++i) {
      const bool leaves = near(links[i].from) && !near(links[i].to);
      const bool enters = !near(links[i].from) && near(links[i].to);
      if (!leaves && !(bothWays_ && enters)) continue;
      cut.links.push_back(static_cast<topology::LinkId>(i));
      cut.bandwidth += static_cast<double>(links[i].bandwidth);
    }
    for (const topology::NodeId gpu : system_.nodes(topology::NodeType::kGpu))
      (near(gpu) ? cut.near : cut.far).push_back(system_.position(gpu));
    cut.networkNear = system_.usesNets() && near(network());
    return cut;
  }

  const topology::System& system_;
  bool bothWays_;
  Graph graph_;
  Graph::ArcMap<std::int64_t> capacity_;
  std::optional<Cut> best_;
  std::int64_t bestFlow_ = 0;
};

// The smallest cut that every channel of a host crosses; nullopt if there is nothing to cut, as with one GPU
// and no network.
//
// A ring visits all GPUs and returns to the first one, in jobs of several hosts through the network: it
// crosses every cut between two GPUs, or between a GPU and the network, in both directions. A chain inside a
// host crosses such a cut in one direction only; a chain that starts at a NET crosses it away from the
// network.
std::optional<Cut> smallestCut(const topology::System& system, search::Pattern pattern) {
  const auto gpus = system.nodes(topology::NodeType::kGpu);
  const bool nets = system.usesNets();
  const bool ring = pattern == search::Pattern::kRing;
  // A chain that starts at a NET crosses each cut away from the network; other chains may cross in either
  // direction, so both count. Cuts between a fixed origin and every GPU suffice: any cut between two nodes
  // separates the origin from one of them.
  Cutter cutter(system, !ring && !nets);
  const topology::NodeId origin = nets ? cutter.network() : *gpus.begin();
  for (const topology::NodeId gpu : gpus) {
    if (gpu == origin) continue;
    cutter.cut(origin, gpu);
    if (ring) cutter.cut(gpu, origin);
  }
  return cutter.best();
}

// The cut counts as tight if it exceeds the bound of the linear program by no more than this part.
constexpr double kSame = 1e-6;
// A link is a bottleneck if it accounts for at least this part of the bound.
constexpr double kMinShare = 1e-6;

void addBottlenecks(Bound& bound, const Capacities& capacities, const std::vector<double>& prices) {
  for (int row = 0; row < capacities.rows(); ++row) {
    const double weight = prices[static_cast<std::size_t>(row)] * kWholeUnits;
    if (capacities.link(row) == topology::kNoLink ||
        weight * capacities.capacity(row) < kMinShare * bound.program)
      continue;
    bound.bottlenecks.push_back({capacities.link(row), weight});
  }
  std::stable_sort(bound.bottlenecks.begin(), bound.bottlenecks.end(),
                   [](const Bottleneck& a, const Bottleneck& b) { return a.link < b.link; });
}

// With more GPUs the linear program takes too long, and only the cut is computed.
constexpr int kMaxGpusForProgram = 16;
constexpr int kMaxGpusForQuickProgram = 8;

}  // namespace

Bound boundOf(const topology::System& system, const paths::PathTable& paths, search::Pattern pattern,
              int crossNic, bool program) {
  Bound bound;
  const int gpus = system.count(topology::NodeType::kGpu);
  if (gpus == 0 || (gpus == 1 && !system.usesNets())) return bound;
  if (gpus == 1 && pattern != search::Pattern::kRing) pattern = search::Pattern::kTree;
  if (const auto cut = smallestCut(system, pattern)) bound.cut = *cut;
  // Two bounds: the smallest cut is easy to explain and ignores which paths channels take; the linear program
  // respects the paths. The smaller one counts, and the cut if they are equal.
  if (!program) {
    bound.bandwidth = bound.cut.bandwidth;
    bound.cutIsTight = true;
    return bound;
  }
  const paths::Locality locality(system, paths);
  const search::SearchSpace space(system, paths, locality);
  HostProgram packed(space, {}, {pattern, crossNic, false});
  const Packing::Outcome outcome = packed.packing.solve(packed.capacityUnits());
  bound.program = outcome.bound;
  bound.work = packed.packing.work();
  bound.cutIsTight = bound.cut.bandwidth <= bound.program * (1 + kSame);
  bound.bandwidth = bound.cutIsTight ? bound.cut.bandwidth : bound.program;
  if (!bound.cutIsTight) addBottlenecks(bound, packed.capacities, outcome.prices);
  return bound;
}

double totalBandwidth(const search::ChannelGraph& graph, bool nets) {
  const float each = nets ? std::min(graph.bwIntra, graph.bwInter) : graph.bwIntra;
  return static_cast<double>(graph.nChannels) * static_cast<double>(each);
}

std::optional<PlanBound> boundOf(const plan::Plan& plan, const plan::HostPlan& host, search::GraphKind kind,
                                 Effort effort) {
  const search::ChannelGraph& graph = host.graphs[kind];
  const int gpus = host.system().count(topology::NodeType::kGpu);
  const bool program = gpus <= (effort == Effort::kFull ? kMaxGpusForProgram : kMaxGpusForQuickProgram);
  Bound bound =
      boundOf(host.system(), host.paths.paths, graph.pattern, plan.connections.options.crossNic, program);
  if (bound.bandwidth <= 0) return std::nullopt;
  const bool nets = host.system().usesNets();
  return PlanBound{kind, totalBandwidth(graph, nets), !program && gpus <= kMaxGpusForProgram,
                   std::move(bound)};
}

std::vector<PlanBound> boundsOf(const plan::Plan& plan, const plan::HostPlan& host, Effort effort) {
  std::vector<PlanBound> bounds;
  for (const search::GraphKind kind : {search::GraphKind::kRing, search::GraphKind::kTree})
    if (auto bound = boundOf(plan, host, kind, effort)) bounds.push_back(std::move(*bound));
  return bounds;
}

}  // namespace xylem::optimum
