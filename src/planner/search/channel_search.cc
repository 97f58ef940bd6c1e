#include "planner/search/channel_search.h"

#include <algorithm>

#include "planner/search/explored.h"
#include "planner/search/known_searches.h"
#include "planner/search/load_graph.h"
#include "planner/search/search.h"
#include "planner/search/speeds.h"
#include "core/settings.h"
#include "planner/paths/job_paths.h"
#include "planner/topology/bandwidths.h"

namespace xylem {
namespace {

PathType next(PathType type) { return static_cast<PathType>(static_cast<int>(type) + 1); }

Duplication duplicationOf(const ChannelGraph& graph, int lowestSm) {
  if (graph.nChannels == 0) return Duplication::kNone;
  if (graph.pattern == Pattern::kNvls) return Duplication::kPattern;
  if (graph.bwIntra < kDuplicateFrom) return Duplication::kTooSlow;
  const bool enough = lowestSm > 80 && graph.bwIntra < kDuplicateFromSm90 && graph.nChannels > kDuplicateUpTo;
  return enough ? Duplication::kEnough : Duplication::kDoubled;
}

void duplicateChannels(ChannelGraph& graph, int lowestSm) {
  graph.duplication = duplicationOf(graph, lowestSm);
  if (graph.duplication != Duplication::kDoubled) return;
  const int before = graph.nChannels;
  const int after = std::min(2 * before, graph.maxChannels);
  const auto copied = static_cast<std::size_t>(after - before);
  const auto gpus = static_cast<std::size_t>(graph.gpuCount);
  const auto from = static_cast<std::size_t>(before);
  std::copy_n(graph.gpus.begin(), copied * gpus,
              graph.gpus.begin() + static_cast<std::ptrdiff_t>(from * gpus));
  std::copy_n(graph.nets.begin(), copied * 2, graph.nets.begin() + static_cast<std::ptrdiff_t>(from * 2));
  const auto share = static_cast<float>((after + before - 1) / before);
  graph.bwIntra /= share;
  graph.bwInter /= share;
  graph.nChannels = after;
}

void fallBack(ChannelGraph& graph) {
  graph.fallback = true;
  for (int i = 0; i < graph.gpuCount; ++i) graph.gpus[static_cast<std::size_t>(i)] = i;
  graph.nets[0] = graph.nets[1] = -1;
  graph.bwIntra = graph.bwInter = 0.1f;
  graph.typeIntra = graph.typeInter = PathType::kSys;
  graph.nChannels = 1;
}

// One run of the driver. `wanted_` is what the next search is asked for, `best_` the best graph so far.
class Driver {
 public:
  Driver(const GraphRequest& request, SearchSpace& space, Terrains& terrains, SearchMemory& memory,
         const ChannelOptions& options, float maxBandwidth, float totalBandwidth, int lowestSm)
      : space_(space),
        terrains_(terrains),
        memory_(memory),
        options_(options),
        maxBandwidth_(maxBandwidth),
        totalBandwidth_(totalBandwidth),
        lowestSm_(lowestSm) {
    const System& system = space.system();
    best_.id = request.id;
    best_.pattern = request.pattern;
    best_.collNet = request.collNet;
    best_.minChannels = request.minChannels;
    best_.maxChannels = request.maxChannels;
    best_.gpuCount = space.gpuCount();
    const bool crosses = request.pattern == Pattern::kRing || request.pattern == Pattern::kBalancedTree ||
                         request.pattern == Pattern::kSplitTree;
    crossNic_ = inter() && space.netCount() > 1 && crosses ? options.crossNic : 0;
    best_.crossNic = crossNic_ == 1 ? 1 : 0;
    if (space.gpuCount() > 1) {
      minIntra_ = bestType(system, space.paths(), NodeType::kGpu);
      maxIntra_ = worstType(system, space.paths(), NodeType::kGpu);
    }
    if (inter()) {
      minInter_ = bestType(system, space.paths(), NodeType::kNet);
      maxInter_ = worstType(system, space.paths(), NodeType::kNet);
      maxIntra_ = maxInter_;
    }
    best_.typeIntra = minIntra_;
    best_.typeInter = minInter_;
    trySame_ = request.pattern != Pattern::kNvls;
    best_.sameChannels = trySame_;
  }

  ChannelGraph run() {
    const System& system = space_.system();
    if (options_.graphFile != nullptr) loadGraph(*options_.graphFile, system, options_.crossNic, best_);
    if (best_.nChannels > 0) return best_;
    if (best_.pattern == Pattern::kNvls) {
      if (!system.hasNvs() || lowestSm_ < 90) return best_;
      best_.maxChannels = std::min(32, space_.gpuCount());
    }
    best_.gpus.resize(static_cast<std::size_t>(kMaxChannels) * static_cast<std::size_t>(best_.gpuCount));
    best_.nets.resize(static_cast<std::size_t>(kMaxChannels) * 2, -1);
    if (best_.pattern == Pattern::kCollnetDirect) best_.maxChannels = std::min(8, space_.gpuCount());
    if (space_.gpuCount() == 1 && best_.pattern != Pattern::kRing) best_.pattern = Pattern::kTree;
    if (!inter() && best_.pattern == Pattern::kNvls) best_.minChannels = best_.maxChannels;
    wanted_ = best_;
    speeds_ = searchSpeeds(inter(), lowestSm_);
    double reachable = totalBandwidth_;
    if (space_.gpuCount() > 1 && best_.pattern != Pattern::kRing)
      reachable = static_cast<float>(totalBandwidth_ * (space_.gpuCount() / (space_.gpuCount() - 1.0)));
    speed_ = 0;
    while (speed_ < lastSpeed() && (speeds_[speed_] > maxBandwidth_ ||
                                    speeds_[speed_] * static_cast<float>(best_.minChannels) > reachable))
      ++speed_;
    wanted_.bwIntra = wanted_.bwInter = speeds_[speed_];

    do search();
    while (!satisfied() && relax());
    improve();
    if (best_.nChannels == 0 && !best_.collNet && best_.pattern != Pattern::kNvls) fallBack(best_);
    best_.end = end_;
    best_.attempts = std::move(attempts_);
    best_.searchSteps = steps_;
    const auto channels = static_cast<std::size_t>(best_.nChannels);
    best_.gpus.resize(channels * static_cast<std::size_t>(best_.gpuCount));
    best_.nets.resize(channels * 2);
    return std::move(best_);
  }

 private:
  bool inter() const { return space_.netCount() > 0; }
  std::size_t lastSpeed() const { return speeds_.size() - 1; }

  void search() {
    const std::int64_t budget = wanted_.sameChannels ? kSearchBudgetSameChannels : kSearchBudget;
    SearchAttempt attempt{wanted_.pattern,   pass_,
                          wanted_.bwIntra,   wanted_.bwInter,
                          wanted_.typeIntra, wanted_.typeInter,
                          wanted_.crossNic,  wanted_.sameChannels};
    attempt.channelsBefore = best_.nChannels;
    attempt.change = change_;
    globalBudget_ -= budget;
    attempt.steps = searchOnce(budget);
    attempt.exhausted = left_ == 0;
    attempt.channelsAfter = best_.nChannels;
    steps_ += attempt.steps;
    attempts_.push_back(attempt);
  }

  // Searches, unless an equal search has shown that it changes nothing. Returns the steps it takes.
  std::int64_t searchOnce(std::int64_t budget) {
    const Terrain& terrain = terrains_.of({wanted_.typeIntra, wanted_.typeInter, wanted_.pattern});
    const std::uint64_t exact = exactKey(space_, terrain, wanted_);
    if (const auto* known = changesNothing(exact)) return charge(*known);
    const Room room(space_, terrain, wanted_);
    const std::uint64_t like = room.traceless() ? roomKey(terrain, room, wanted_) : exact;
    const std::uint64_t alike = room.traceless() && room.ranksAlike() ? mixHash(like, 1) : exact;
    for (const std::uint64_t key : {like, alike}) {
      const auto* known = changesNothing(key);
      if (known == nullptr) continue;
      const KnownSearches::Outcome outcome = *known;
      known_.add(exact, outcome);
      return charge(outcome);
    }
    const std::uint64_t free = space_.freeHash();
    Search search(space_, terrain, room, wanted_, best_, memory_);
    left_ = search.run(budget);
    // The heads of NVLS and CollNet channels look at more than a key says, and they are quick.
    if (wanted_.pattern == Pattern::kNvls || wanted_.pattern == Pattern::kCollnetDirect)
      return search.steps();
    if (left_ == Search::kPerfect || free != space_.freeHash()) return search.steps();
    const KnownSearches::Outcome outcome{search.steps(), left_, search.completed()};
    known_.add(exact, outcome);
    if (const std::uint64_t key = search.exhaustive() ? like : alike; key != exact) known_.add(key, outcome);
    return search.steps();
  }

  const KnownSearches::Outcome* changesNothing(std::uint64_t key) const {
    const KnownSearches::Outcome* known = known_.find(key);
    const bool changes = known != nullptr && isBetter(wanted_, best_, known->completed.after(wanted_.nHops));
    return changes ? nullptr : known;
  }

  std::int64_t charge(const KnownSearches::Outcome& known) {
    left_ = known.left;
    return known.steps;
  }

  // Nothing more to gain: all channels asked for, or all the bandwidth a GPU has.
  bool satisfied() {
    if (left_ == Search::kPerfect) return endsWith(SearchEnd::kAllChannels);
    const bool saturated = static_cast<float>(best_.nChannels) * best_.bwInter >= totalBandwidth_;
    return saturated && endsWith(SearchEnd::kAllBandwidth);
  }
  bool endsWith(SearchEnd end) {
    end_ = end;
    return true;
  }
  bool asksFor(SearchChange change) {
    change_ = change;
    return true;
  }

  // Asks for one thing less; false when there is nothing left to give up, or no budget.
  bool relax() {
    const Cpu* cpu = space_.system().firstCpu();
    const bool amdAcrossCpus =
        cpu != nullptr && cpu->is(CpuArch::kX86, CpuVendor::kAmd) && wanted_.typeIntra == PathType::kSys;
    if (wanted_.sameChannels && !amdAcrossCpus) {
      wanted_.sameChannels = false;
      return asksFor(SearchChange::kAnyOrder);
    }
    wanted_.sameChannels = trySame_;
    globalBudget_ += left_;
    if (globalBudget_ < 0 && best_.nChannels > 0) return !endsWith(SearchEnd::kBudget);
    if (lowestSm_ >= 90 && wanted_.pattern == Pattern::kBalancedTree) {
      wanted_.pattern = Pattern::kTree;
      return asksFor(SearchChange::kTreePattern);
    }
    wanted_.pattern = best_.pattern;
    return relaxTypes() || relaxCrossNic() || relaxSpeed() || !endsWith(SearchEnd::kNothingToGiveUp);
  }

  bool relaxTypes() {
    const bool none = best_.nChannels == 0;
    const PathType worstIntra = inter() ? wanted_.typeInter : maxIntra_;
    if (wanted_.typeIntra < worstIntra && (none || wanted_.typeIntra < best_.typeIntra)) {
      wanted_.typeIntra = next(wanted_.typeIntra);
      return asksFor(SearchChange::kFartherGpus);
    }
    wanted_.typeIntra = minIntra_;
    if (inter() && wanted_.typeInter < maxInter_ &&
        (none || wanted_.typeInter < best_.typeInter || wanted_.typeInter < PathType::kPxn)) {
      wanted_.typeInter = next(wanted_.typeInter);
      return asksFor(SearchChange::kFartherNets);
    }
    wanted_.typeInter = minInter_;
    return false;
  }

  bool relaxCrossNic() {
    if (crossNic_ == 2 && wanted_.crossNic == 0 &&
        (best_.pattern == Pattern::kRing || best_.pattern == Pattern::kBalancedTree)) {
      wanted_.crossNic = 2;
      return asksFor(SearchChange::kCrossNic);
    }
    wanted_.crossNic = crossNic_ == 1 ? 1 : 0;
    return false;
  }

  bool relaxSpeed() {
    if (speed_ >= lastSpeed()) return false;
    if (best_.nChannels > 0 && !(speeds_[speed_ + 1] / best_.bwInter > 0.49)) return false;
    ++speed_;
    wanted_.bwIntra = wanted_.bwInter = speeds_[speed_];
    return asksFor(SearchChange::kLessBandwidth);
  }

  // The second pass: more channels at less bandwidth each where that pays, then more bandwidth step by step.
  void improve() {
    pass_ = 2;
    change_ = SearchChange::kMoreBandwidth;
    duplicateChannels(best_, lowestSm_);
    wanted_ = best_;
    speed_ = 0;
    while (speed_ < lastSpeed() && speeds_[speed_] > best_.bwInter) ++speed_;
    wanted_.bwIntra = wanted_.bwInter = speeds_[speed_];
    wanted_.minChannels = best_.nChannels;
    left_ = Search::kPerfect;
    while (left_ != 0 && speed_ > 0 && raise()) search();
  }

  bool raise() {
    if (best_.pattern == Pattern::kRing) {
      wanted_.bwIntra = wanted_.bwInter = speeds_[--speed_];
      return true;
    }
    if (best_.pattern == Pattern::kNvls && wanted_.bwInter == best_.bwInter &&
        wanted_.bwInter < wanted_.bwIntra * 2) {
      wanted_.minChannels = wanted_.maxChannels = best_.nChannels;
      wanted_.bwInter = speeds_[--speed_];
      return true;
    }
    if (wanted_.bwIntra == best_.bwIntra && wanted_.bwIntra < wanted_.bwInter * 2) {
      wanted_.bwIntra = speeds_[--speed_];
      return true;
    }
    return false;
  }

  SearchSpace& space_;
  Terrains& terrains_;
  SearchMemory& memory_;
  const ChannelOptions& options_;
  float maxBandwidth_, totalBandwidth_;
  int lowestSm_;
  int crossNic_ = 0;
  bool trySame_ = true;
  PathType minIntra_ = PathType::kLoc, maxIntra_ = PathType::kSys;
  PathType minInter_ = PathType::kPix, maxInter_ = PathType::kSys;
  ChannelGraph best_, wanted_;
  std::span<const float> speeds_;
  std::size_t speed_ = 0;
  std::int64_t globalBudget_ = kSearchBudgetGlobal;
  std::int64_t left_ = 0;
  int pass_ = 1;
  SearchChange change_ = SearchChange::kFirst;
  SearchEnd end_ = SearchEnd::kNotSearched;
  std::int64_t steps_ = 0;
  std::vector<SearchAttempt> attempts_;
  KnownSearches known_;
};

}  // namespace

ChannelOptions ChannelOptions::from(const Settings& settings) {
  return {static_cast<int>(settings.integer(Setting::kCrossNic)), nullptr};
}

HostBandwidth bandwidthOf(const System& system, const PathTable& paths) {
  HostBandwidth found;
  const bool inter = system.count(NodeType::kNet) > 0;
  if (!inter && system.count(NodeType::kGpu) == 1) return {kLocalBandwidth, kLocalBandwidth};
  for (NodeId gpu : system.nodes(NodeType::kGpu)) {
    for (NodeId node : system.nodes(inter ? NodeType::kNet : NodeType::kGpu)) {
      const Path& path = paths.path(gpu, node);
      if (path.hops > 0) found.max = std::max(found.max, path.bandwidth);
    }
    float pci = 0;
    float nvlink = 0;
    for (const Link& link : system.links(gpu)) {
      if (link.type == LinkType::kPci) pci = link.bandwidth;
      if (link.type == LinkType::kNvl) nvlink += link.bandwidth;
    }
    found.total = std::max(found.total, std::max(pci, nvlink));
  }
  return found;
}

HostChannels::HostChannels(const System& system, const PathTable& paths, const Locality& locality,
                           const ChannelOptions& options)
    : options_(options),
      space_(system, paths, locality),
      terrains_(space_),
      bandwidth_(bandwidthOf(system, paths)) {
  lowestSm_ = system.count(NodeType::kGpu) > 0 ? system.gpu(system.node(NodeType::kGpu, 0)).sm : 0;
  for (NodeId gpu : system.nodes(NodeType::kGpu)) lowestSm_ = std::min(lowestSm_, system.gpu(gpu).sm);
}

ChannelGraph HostChannels::compute(const GraphRequest& request) {
  return Driver(request, space_, terrains_, memory_, options_, bandwidth_.max, bandwidth_.total, lowestSm_)
      .run();
}

}  // namespace xylem
