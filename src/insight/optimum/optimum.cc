#include "insight/optimum/optimum.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "insight/optimum/built_graph.h"
#include "insight/optimum/equal_channels.h"
#include "planner/paths/locality.h"
#include "planner/search/channel_search.h"

namespace xylem::optimum {
namespace {

// Far path types cost NCCL protocols, so paths are limited to near types if these give at least this part of
// the bandwidth that all paths give.
constexpr double kNearEnough = 0.98;
// A graph replaces the search's only if its bandwidth is greater by this factor.
constexpr double kWorthwhile = 1.001;
// A graph that lacks only this part of the search's bandwidth still counts as equal.
constexpr double kWithin = 1e-4;
// Limit of steps for a graph: a few seconds.
constexpr std::int64_t kWork = 60'000'000;
constexpr int kTreesTried = 6;  // each may take this part of kWork

double insideOf(const search::ChannelGraph& graph) {
  return static_cast<double>(graph.nChannels) * static_cast<double>(graph.bwIntra);
}

class Optimizer {
 public:
  Optimizer(const topology::System& system, const paths::PathTable& paths, const search::HostGraphs& found,
            const OptimumOptions& options)
      : system_(system),
        paths_(paths),
        found_(found),
        options_(options),
        locality_(system, paths),
        space_(system, paths, locality_),
        nets_(system.usesNets()) {
    lowestSm_ = system.gpu(system.node(topology::NodeType::kGpu, 0)).sm;
    for (const topology::NodeId gpu : system.nodes(topology::NodeType::kGpu))
      lowestSm_ = std::min(lowestSm_, system.gpu(gpu).sm);
    fastest_ = static_cast<double>(search::searchSpeeds(nets_, lowestSm_, system.rules()).front());
  }

  // `candidates` gets every pair of graphs that was found, the best first; it may be null.
  Optimum run(std::vector<Optimum>* candidates = nullptr) {
    candidates_ = candidates;
    Optimum best = searched();
    if (best.ring.bound.bandwidth > 0) improve(best);
    best.work = work_;
    return best;
  }

  // The search's graphs with their bounds.
  Optimum searched() {
    Optimum best;
    best.graphs = found_;
    const search::ChannelGraph& ring = found_[search::GraphKind::kRing];
    const search::ChannelGraph& tree = found_[search::GraphKind::kTree];
    best.ring = start(ring);
    best.tree = start(tree);
    return best;
  }

 private:
  static bool raises(const GraphOptimum& graph) { return graph.best > graph.found * kWorthwhile; }

  // Returns whether one of the graphs has more bandwidth, and the other one is the search's or has another
  // number of channels to go with it.
  bool isWorthTrying(const Optimum& candidate) const {
    const auto hasReason = [&](search::GraphKind kind, const GraphOptimum& graph) {
      return !graph.improved || raises(graph) || candidate.graphs[kind].nChannels != found_[kind].nChannels;
    };
    return (raises(candidate.ring) || raises(candidate.tree)) &&
           hasReason(search::GraphKind::kRing, candidate.ring) &&
           hasReason(search::GraphKind::kTree, candidate.tree);
  }

  void note(const Optimum& candidate) {
    if (candidates_ != nullptr && isWorthTrying(candidate)) candidates_->push_back(candidate);
  }

  GraphOptimum start(const search::ChannelGraph& graph) {
    GraphOptimum optimum;
    optimum.bound = boundOf(system_, paths_, graph.pattern, options_.crossNic);
    work_ += optimum.bound.work;
    optimum.found = optimum.best = totalBandwidth(graph, nets_);
    optimum.ceiling = std::max(optimum.found, optimum.bound.bandwidth);
    return optimum;
  }

  // Returns the linear program of a graph over paths that are only as far as needed: starts with all paths,
  // then limits paths inside the host, then paths to the NETs, to the nearest type that keeps enough
  // bandwidth.
  std::unique_ptr<HostProgram> programOf(const search::ChannelGraph& graph, double found) {
    const ChannelRules rules{graph.gpuCount == 1 && graph.pattern != search::Pattern::kRing
                                 ? search::Pattern::kTree
                                 : graph.pattern,
                             options_.crossNic, options_.crossNic == 2};
    const auto make = [&](paths::PathType intra, paths::PathType inter) {
      return std::make_unique<HostProgram>(space_, Reachable{intra, inter}, rules);
    };
    const auto bandwidth = [&](HostProgram& program) {
      const double channels = program.packing.solve(program.capacityUnits()).channels;
      work_ += program.packing.work();
      return channels;
    };
    // Graphs that the search made up have no types to keep.
    const bool keeps = options_.keepTypes && !graph.fallback && graph.nChannels > 0;
    const Reachable most{keeps && graph.gpuCount > 1 ? graph.typeIntra : paths::PathType::kSys,
                         keeps && nets_ ? graph.typeInter : paths::PathType::kSys};
    auto best = make(most.intra, most.inter);
    const double enough = std::max(bandwidth(*best) * kNearEnough, std::min(bandwidth(*best), found));
    Reachable reachable = most;
    const auto nearest = [&](paths::PathType& type, paths::PathType from) {
      for (paths::PathType nearer = from; nearer < type; nearer = paths::nextType(nearer, system_.rules())) {
        const paths::PathType before = std::exchange(type, nearer);
        auto program = make(reachable.intra, reachable.inter);
        if (program->capacities.rows() > 0 && bandwidth(*program) >= enough) {
          best = std::move(program);
          return;
        }
        type = before;
      }
    };
    if (graph.gpuCount > 1) nearest(reachable.intra, paths::PathType::kNvl);
    if (nets_) nearest(reachable.inter, paths::PathType::kPix);
    return best;
  }

  // Replaces fast channels by twice as many of half the bandwidth, where the search does so, too: one channel
  // keeps only few cores of a GPU busy.
  void spread(ChannelSet& set) const {
    const auto slow =
        static_cast<double>(lowestSm_ > 80 ? search::kDuplicateFromSm90 : search::kDuplicateFrom);
    if (set.bandwidth < slow || 2 * set.channels > options_.maxChannels) return;
    std::vector<ChannelColumn> twice;
    for (const ChannelColumn& column : set.columns) twice.insert(twice.end(), 2, column);
    set.columns = std::move(twice);
    set.channels *= 2;
    set.bandwidth /= 2;
  }

  std::optional<search::ChannelGraph> build(const ChannelSet& set, const search::ChannelGraph& like) const {
    return builtGraph(set, like, {system_, paths_, options_.crossNic, fastest_});
  }

  // A job uses as many channels as rings and trees both have. So this looks for sets of rings first, for
  // several numbers of channels, and then for trees of the same number, and keeps the best pair. The search's
  // own rings, sped up, are the pair to beat.
  void improve(Optimum& best) {
    const search::ChannelGraph& found = found_[search::GraphKind::kRing];
    const auto program = programOf(found, best.ring.found);
    EqualChannels search(*program);
    const EqualChannels::Result result =
        search.run({1, options_.maxChannels, fastest_, best.ring.found * (1 - kWithin), kWork});
    best.ring.ceiling = std::min(best.ring.bound.bandwidth, std::max(result.ceiling, best.ring.found));
    Optimum chosen = best;
    HostProgram all(space_, {}, {found.pattern, options_.crossNic, false});
    if (const auto ring = faster(found, all);
        ring && totalBandwidth(*ring, nets_) > best.ring.found * kWorthwhile) {
      setRing(chosen, *ring);
      note(chosen);
    }
    if (candidates_ != nullptr && chosen.ring.improved) {
      Optimum treeAlone = best;
      improveTree(treeAlone, found.nChannels);
      note(treeAlone);
    }
    improveTree(chosen, found.nChannels);
    note(chosen);
    for (ChannelSet set : result.sets) {
      if (treeProgram_->packing.work() > kWork) break;
      spread(set);
      const auto ring = build(set, found);
      if (!ring) continue;
      Optimum candidate = best;
      setRing(candidate, *ring);
      if (candidate.ring.best < best.ring.found) continue;
      if (ring->nChannels == found_[search::GraphKind::kTree].nChannels &&
          candidate.ring.best > best.ring.found * kWorthwhile)
        note(candidate);  // with the search's trees
      if (!improveTree(candidate, ring->nChannels)) continue;
      note(candidate);
      if (isBetter(candidate, chosen)) chosen = std::move(candidate);
    }
    best = std::move(chosen);
    if (candidates_ != nullptr && isWorthTrying(best)) candidates_->insert(candidates_->begin(), best);
    work_ += program->packing.work() + treeProgram_->packing.work();
  }

  void setRing(Optimum& best, const search::ChannelGraph& ring) const {
    best.graphs[search::GraphKind::kRing] = ring;
    best.ring.best = totalBandwidth(ring, nets_);
    best.ring.improved = true;
  }

  // Returns the search's channels at the highest speed that the links allow; nullopt if there are none.
  std::optional<search::ChannelGraph> faster(const search::ChannelGraph& found, HostProgram& program) const {
    if (found.fallback || found.nChannels == 0) return std::nullopt;
    ChannelSet set{found.nChannels, fastest_, {}};
    std::vector<double> taken(program.capacityUnits().size(), 0);
    for (int c = 0; c < found.nChannels; ++c) {
      std::vector<int> gpus;
      for (int i = 0; i < found.gpuCount; ++i) gpus.push_back(found.gpu(c, i));
      const int start = nets_ ? found.startNet(c) : -1;
      const int end = nets_ ? found.endNet(c) : -1;
      set.columns.push_back(program.pricing.columnOf(std::move(gpus), start, end, 1));
      for (const Use& use : set.columns.back().uses) taken[static_cast<std::size_t>(use.row)] += use.units;
    }
    const std::vector<double> freeUnits = program.capacityUnits();
    for (std::size_t row = 0; row < freeUnits.size(); ++row)
      if (taken[row] > 0) set.bandwidth = std::min(set.bandwidth, freeUnits[row] / taken[row]);
    // Keep the search's order of channels, in which those that cross NICs come in pairs.
    auto graph = builtGraph(set, found, {system_, paths_, options_.crossNic, fastest_});
    if (!graph) return graph;
    search::ChannelGraph ordered = found;
    ordered.bwIntra = graph->bwIntra;
    ordered.bwInter = graph->bwInter;
    return isAccepted(ordered, system_, paths_) ? std::optional(ordered) : std::nullopt;
  }

  // Compares the bandwidths of rings, then of trees, then prefers the number of channels that the search has.
  bool isBetter(const Optimum& a, const Optimum& b) const {
    if (!isClose(a.ring.best, b.ring.best)) return a.ring.best > b.ring.best;
    if (!isClose(a.tree.best, b.tree.best)) return a.tree.best > b.tree.best;
    const auto asFound = [&](const Optimum& optimum) {
      return optimum.graphs[search::GraphKind::kRing].nChannels == found_[search::GraphKind::kRing].nChannels;
    };
    return asFound(a) && !asFound(b);
  }
  static bool isClose(double a, double b) { return a <= b * kWorthwhile && b <= a * kWorthwhile; }

  // Sets a tree of this number of channels that is no worse than the search's. Returns false if there is
  // none, and the search's tree does not have this number either.
  bool improveTree(Optimum& best, int channels) {
    const search::ChannelGraph& found = found_[search::GraphKind::kTree];
    const bool asMany = found.nChannels == channels;
    if (treeProgram_ == nullptr) {
      treeProgram_ = programOf(found, best.tree.found);
      treeSearch_ = std::make_unique<EqualChannels>(*treeProgram_);
    }
    // With another number of channels the search's tree cannot stay, so an equally good tree will do.
    const double above = best.tree.found * (asMany ? kWorthwhile : 1 - kWithin);
    const EqualChannels::Result result =
        treeSearch_->run({channels, channels, fastest_, above, kWork / kTreesTried});
    best.tree.ceiling = std::min(best.tree.bound.bandwidth, std::max(result.ceiling, best.tree.found));
    std::vector<std::optional<search::ChannelGraph>> trees;
    for (const ChannelSet& set : result.sets) trees.push_back(build(set, found));
    HostProgram all(space_, {}, treeProgram_->pricing.rules());
    if (asMany) trees.push_back(faster(found, all));
    for (const auto& tree : trees) {
      if (!tree || (asMany && totalBandwidth(*tree, nets_) <= above)) continue;
      const bool noWorse =
          totalBandwidth(*tree, nets_) >= best.tree.found && insideOf(*tree) >= insideOf(found);
      if (!noWorse) continue;
      best.graphs[search::GraphKind::kTree] = *tree;
      best.tree.best = totalBandwidth(*tree, nets_);
      best.tree.improved = true;
      return true;
    }
    return asMany;
  }

  const topology::System& system_;
  const paths::PathTable& paths_;
  const search::HostGraphs& found_;
  OptimumOptions options_;
  paths::Locality locality_;
  search::SearchSpace space_;
  bool nets_;
  int lowestSm_ = 0;
  double fastest_ = 0;
  std::unique_ptr<HostProgram> treeProgram_;
  std::unique_ptr<EqualChannels> treeSearch_;
  std::int64_t work_ = 0;
  std::vector<Optimum>* candidates_ = nullptr;
};

}  // namespace

Optimum findOptimum(const topology::System& system, const paths::PathTable& paths,
                    const search::HostGraphs& found, const OptimumOptions& options) {
  return Optimizer(system, paths, found, options).run();
}

Candidates findCandidates(const topology::System& system, const paths::PathTable& paths,
                          const search::HostGraphs& found, const OptimumOptions& options) {
  Candidates candidates;
  Optimizer any(system, paths, found, options);
  candidates.searched = any.searched();
  any.run(&candidates.better);
  OptimumOptions near = options;
  near.keepTypes = true;
  Optimizer(system, paths, found, near).run(&candidates.better);
  return candidates;
}

}  // namespace xylem::optimum
