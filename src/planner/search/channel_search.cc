#include "planner/search/channel_search.h"

#include <algorithm>
#include <bit>

#include "core/settings.h"
#include "planner/paths/job_paths.h"
#include "planner/search/graph_file.h"
#include "planner/search/search.h"
#include "planner/topology/bandwidths.h"

namespace xylem::search {
namespace {

constexpr int kMaxRings = 32;
constexpr int kHopperSm = 90;
// This value of NCCL_NVLS_ENABLE means: if the driver offers multicast. Others, except 0, take it for
// granted.
constexpr std::int64_t kNvlsIfOffered = 2;

// Returns whether NVLink joins the GPUs into exactly two groups; single GPUs beside them do not count. A group is named by
// the GPU that NCCL's one pass over all pairs leaves its members with.
bool hasTwoIslands(const topology::System& system, const paths::PathTable& paths) {
  const int gpus = system.count(topology::NodeType::kGpu);
  std::vector<int> island(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g) island[static_cast<std::size_t>(g)] = g;
  const auto node = [&](int g) { return system.node(topology::NodeType::kGpu, g); };
  for (int g = 0; g < gpus; ++g) {
    const int name = island[static_cast<std::size_t>(g)];
    for (int other = g + 1; other < gpus; ++other)
      if (paths.path(node(g), node(other)).type == paths::PathType::kNvl)
        island[static_cast<std::size_t>(other)] = name;
  }
  std::vector<int> members(static_cast<std::size_t>(gpus), 0);
  for (const int name : island) ++members[static_cast<std::size_t>(name)];
  return std::count_if(members.begin(), members.end(), [](int count) { return count > 1; }) == 2;
}

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

// The position of the NIC that NCCL calls 0; -1 if the job uses none or there is no such NIC.
int netZero(const topology::System& system) {
  if (system.usesNets())
    for (const topology::NodeId net : system.nodes(topology::NodeType::kNet))
      if (system[net].key.value == 0) return system.position(net);
  return -1;
}

// One channel of little bandwidth has the GPUs in index order.
void fallBack(ChannelGraph& graph, const topology::System& system, const paths::PathTable& paths) {
  graph.fallback = true;
  for (int i = 0; i < graph.gpuCount; ++i) graph.gpus[static_cast<std::size_t>(i)] = i;
  graph.nets[0] = graph.nets[1] = netZero(system);
  graph.bwIntra = graph.bwInter = 0.1f;
  graph.typeIntra = graph.typeInter = paths::PathType::kSys;
  graph.nChannels = 1;
  if (system.rules().fallback == rules::Fallback::kFirstNic) return;
  graph.nets[0] = graph.nets[1] = -1;
  if (system.count(topology::NodeType::kNet) == 0) {
    graph.bwInter = 0;
    graph.typeInter = paths::PathType::kDis;
    return;
  }
  const paths::Locality locality(system, paths);
  const auto ownNet = [&](int gpu) {
    return system.position(locality.localNet(system.node(topology::NodeType::kGpu, gpu), 0));
  };
  graph.nets[0] = ownNet(0);
  graph.nets[1] = ownNet(graph.gpuCount - 1);
}

ChannelGraph notComputed(const GraphRequest& request) {
  ChannelGraph graph;
  graph.id = request.id;
  graph.pattern = request.pattern;
  graph.collNet = request.collNet;
  graph.minChannels = request.minChannels;
  graph.maxChannels = request.maxChannels;
  return graph;
}

// The searches of one graph. `wanted_` says what the next search looks for, `best_` is the best graph found.
//
// The first pass starts with as many channels of as much bandwidth as may fit, all in the same order, over
// the nearest paths. While a search does not find all that could be there, the next one is asked for less:
// other orders, a simpler pattern, farther GPUs, farther NETs, crossing NICs, and at last less bandwidth,
// with everything else strict again (relax). The second pass doubles the channels at half the bandwidth where
// that pays, and raises the bandwidth while as many channels are found (improve). The order of
// all this, and the budget of steps of all searches together, are NCCL's.
class Driver {
 public:
  Driver(const GraphRequest& request, SearchSpace& space, UsableRoutesByLimits& routes,
         SearchWorkspace& workspace, const ChannelOptions& options, const HostBandwidth& bandwidth,
         int lowestSm)
      : space_(space),
        routes_(routes),
        workspace_(workspace),
        options_(options),
        bandwidth_(bandwidth),
        lowestSm_(lowestSm),
        freeHash_(space.freeHash()) {
    const topology::System& system = space.system();
    best_.id = request.id;
    best_.pattern = request.pattern;
    best_.collNet = request.collNet;
    best_.minChannels = request.minChannels;
    best_.maxChannels = request.maxChannels;
    best_.gpuCount = space.gpuCount();
    const bool crosses = request.pattern == Pattern::kRing || request.pattern == Pattern::kBalancedTree ||
                         request.pattern == Pattern::kSplitTree;
    const int nets = rules().keepsNets ? system.count(topology::NodeType::kNet) : space.netCount();
    crossNic_ = nets > 1 && crosses ? options.crossNic : 0;
    best_.crossNic = crossNic_ == 1 ? 1 : 0;
    if (space.gpuCount() > 1) {
      minIntra_ = paths::bestType(system, space.paths(), topology::NodeType::kGpu);
      maxIntra_ = paths::worstType(system, space.paths(), topology::NodeType::kGpu);
    }
    if (inter()) {
      minInter_ = paths::bestType(system, space.paths(), topology::NodeType::kNet);
      maxInter_ = paths::worstType(system, space.paths(), topology::NodeType::kNet);
      maxIntra_ = maxInter_;
    }
    if (rules().farGpusBeforeHopper && lowestSm < kHopperSm) maxInter_ = paths::PathType::kSys;
    best_.typeIntra = minIntra_;
    best_.typeInter = minInter_;
    trySame_ = request.pattern != Pattern::kNvls;
    best_.sameChannels = trySame_;
  }

  ChannelGraph run() {
    const topology::System& system = space_.system();
    if (options_.graphFile != nullptr) loadGraph(*options_.graphFile, system, options_.crossNic, best_);
    if (best_.nChannels > 0) return best_;
    if (best_.pattern == Pattern::kNvls) {
      if (!system.hasNvs() || lowestSm_ < 90) return best_;
      best_.maxChannels = std::min(32, space_.gpuCount());
    }
    best_.gpus.resize(static_cast<std::size_t>(paths::kMaxChannels) *
                      static_cast<std::size_t>(best_.gpuCount));
    best_.nets.resize(static_cast<std::size_t>(paths::kMaxChannels) * 2, -1);
    if (best_.pattern == Pattern::kCollnetDirect) best_.maxChannels = std::min(8, space_.gpuCount());
    if (space_.gpuCount() == 1 && best_.pattern != Pattern::kRing) best_.pattern = Pattern::kTree;
    if (!inter() && best_.pattern == Pattern::kNvls) best_.minChannels = best_.maxChannels;
    if (rules().twoRingsOfIslands && best_.pattern == Pattern::kRing && best_.maxChannels >= 2 &&
        best_.minChannels == 1 && hasTwoIslands(system, space_.paths()))
      best_.minChannels = 2;
    wanted_ = best_;
    speeds_ = searchSpeeds(inter(), lowestSm_, rules());
    double reachable = bandwidth_.total;
    const int devices = rules().bandwidthOfWires ? system.deviceCount() : space_.gpuCount();
    if (devices > 1 && best_.pattern != Pattern::kRing)
      reachable = static_cast<float>(bandwidth_.total * (devices / (devices - 1.0)));
    speed_ = 0;
    while (speed_ < lastSpeed() && (speeds_[speed_] > bandwidth_.max ||
                                    speeds_[speed_] * static_cast<float>(best_.minChannels) > reachable))
      ++speed_;
    wanted_.bwIntra = wanted_.bwInter = speeds_[speed_];

    if (!inter() || space_.netCount() > 0) {  // without a NET no channel leaves the host
      do search();
      while (!satisfied() && relax());
      improve();
    }
    if (best_.nChannels == 0 && !best_.collNet && best_.pattern != Pattern::kNvls)
      fallBack(best_, system, space_.paths());
    best_.end = end_;
    best_.attempts = std::move(attempts_);
    best_.searchSteps = steps_;
    const auto channels = static_cast<std::size_t>(best_.nChannels);
    best_.gpus.resize(channels * static_cast<std::size_t>(best_.gpuCount));
    best_.nets.resize(channels * 2);
    return std::move(best_);
  }

 private:
  bool inter() const { return space_.inter(); }
  const rules::RuleSet& rules() const { return space_.system().rules(); }
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

  // Searches, unless an equal search has shown that it changes nothing: then its outcome is repeated. Returns
  // the steps.
  //
  // A search is equal to an earlier one if all its input is. It has as much to try if as much fits on the
  // links it may use (LinkCapacity), whatever its bandwidths: then it takes the same steps, provided that
  // both try everything, or in the same order.
  std::int64_t searchOnce(std::int64_t budget) {
    const UsableRoutes& routes = routes_.of({wanted_.typeIntra, wanted_.typeInter, wanted_.pattern});
    const std::uint64_t equal = equalKey(routes);
    if (const SearchOutcome* known = changesNothing(equal)) return repeat(equal, *known);
    const ChannelLoads loads(space_, wanted_);
    const LinkCapacity capacity(space_, routes, wanted_, loads);
    const std::uint64_t likeAll = capacity.exact() ? likeKey(routes, capacity) : equal;
    const std::uint64_t likeOrder = capacity.exact() && capacity.ranksAlike() ? mixHash(likeAll, 1) : equal;
    for (const std::uint64_t key : {likeAll, likeOrder})
      if (const SearchOutcome* known = changesNothing(key)) return repeat(equal, *known);

    Search search(space_, routes, capacity, loads, wanted_, best_, workspace_);
    const SearchOutcome outcome = search.run(budget);
    left_ = outcome.left;
    const std::uint64_t before = freeHash_;
    if (!capacity.exact()) freeHash_ = space_.freeHash();
    // The heads of NVLS and CollNet channels look at more than a key says, and they are quick.
    const bool heads = wanted_.pattern == Pattern::kNvls || wanted_.pattern == Pattern::kCollnetDirect;
    if (heads || freeHash_ != before || left_ == SearchOutcome::kPerfect) return outcome.steps;
    known_.add(equal, outcome);
    known_.add(outcome.exhaustive ? likeAll : likeOrder, outcome);
    return outcome.steps;
  }

  // Repeats an outcome for a search of this key.
  std::int64_t repeat(std::uint64_t key, SearchOutcome known) {
    known_.add(key, known);
    left_ = known.left;
    return known.steps;
  }

  // Returns a known outcome that is no improvement now; else null.
  const SearchOutcome* changesNothing(std::uint64_t key) const {
    const SearchOutcome* known = known_.find(key);
    const bool changes = known != nullptr && isBetter(wanted_, best_, known->score.plusHops(wanted_.nHops));
    return changes ? nullptr : known;
  }

  std::uint64_t requestKey(const UsableRoutes& routes) const {
    const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
    const UsableRoutes::Limits& limits = routes.limits();
    return number(limits.intra) | number(limits.inter) << 4 | number(wanted_.pattern) << 8 |
           (inter() ? number(wanted_.crossNic) << 12 : 0) | number(wanted_.sameChannels) << 16 |
           number(wanted_.maxChannels) << 20;
  }
  // Equal for searches with the same input.
  std::uint64_t equalKey(const UsableRoutes& routes) const {
    const auto bits = [](float x) { return std::uint64_t{std::bit_cast<std::uint32_t>(x)}; };
    const std::uint64_t key = mixHash(mixHash(1, requestKey(routes)), freeHash_);
    return mixHash(key, bits(wanted_.bwIntra) << 32 | bits(wanted_.bwInter));
  }
  // Equal for searches that have the same to try.
  std::uint64_t likeKey(const UsableRoutes& routes, const LinkCapacity& capacity) const {
    return mixHash(mixHash(2, requestKey(routes)), capacity.searchHash());
  }

  // Returns whether nothing more can be found: all channels asked for, or all the bandwidth that a GPU has.
  bool satisfied() {
    if (left_ == SearchOutcome::kPerfect) return endsWith(SearchEnd::kAllChannels);
    const bool saturated = static_cast<float>(best_.nChannels) * best_.bwInter >= bandwidth_.total;
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

  // Asks for one thing less. Returns false if nothing is left to give up, or no budget.
  bool relax() {
    const topology::Cpu* cpu = space_.system().firstCpu();
    const bool amdAcrossCpus = cpu != nullptr &&
                               cpu->is(topology::CpuArch::kX86, topology::CpuVendor::kAmd) &&
                               wanted_.typeIntra == paths::PathType::kSys;
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

  // Paths that do not exist are no farther ones.
  bool goesOn(paths::PathType type) const { return !rules().noRouteIfApart || type < paths::PathType::kDis; }

  bool relaxTypes() {
    const bool none = best_.nChannels == 0;
    const paths::PathType worstIntra = inter() ? wanted_.typeInter : maxIntra_;
    if (wanted_.typeIntra < worstIntra && (none || wanted_.typeIntra < best_.typeIntra)) {
      wanted_.typeIntra = paths::nextType(wanted_.typeIntra, rules());
      if (goesOn(wanted_.typeIntra)) return asksFor(SearchChange::kFartherGpus);
    }
    wanted_.typeIntra = minIntra_;
    if (inter() && wanted_.typeInter < maxInter_ &&
        (none || wanted_.typeInter < best_.typeInter || wanted_.typeInter < paths::PathType::kPxn)) {
      wanted_.typeInter = paths::nextType(wanted_.typeInter, rules());
      if (goesOn(wanted_.typeInter)) return asksFor(SearchChange::kFartherNets);
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
    left_ = SearchOutcome::kPerfect;
    while (left_ != 0 && speed_ > 0 && raise()) search();
  }

  // Asks for the next higher bandwidth: of all routes for rings, else to the NETs (NVLS) or inside the host,
  // where one may be up to twice the other. Returns false if there is none.
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
  UsableRoutesByLimits& routes_;
  SearchWorkspace& workspace_;
  const ChannelOptions& options_;
  HostBandwidth bandwidth_;
  int lowestSm_;
  int crossNic_ = 0;
  bool trySame_ = true;
  paths::PathType minIntra_ = paths::PathType::kLoc, maxIntra_ = paths::PathType::kSys;
  paths::PathType minInter_ = paths::PathType::kPix, maxInter_ = paths::PathType::kSys;
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
  std::uint64_t freeHash_;  // of the space; changes only where searches are not exact
};

}  // namespace

ChannelOptions ChannelOptions::from(const Settings& settings) {
  return {static_cast<int>(settings.integer(Setting::kCrossNic)), nullptr};
}

std::span<const float> searchSpeeds(bool inter, int lowestSm, const rules::RuleSet& rules) {
  const rules::SearchSpeeds& all = rules.searchSpeeds;
  if (inter) return lowestSm >= 100 ? all.interSm100 : lowestSm >= kHopperSm ? all.interSm90 : all.inter;
  return lowestSm >= 100 ? all.intraSm100 : lowestSm >= kHopperSm ? all.intraSm90 : all.intra;
}

HostBandwidth bandwidthOf(const topology::System& system, const paths::PathTable& paths) {
  HostBandwidth found;
  const bool inter = system.usesNets();
  if (!inter && system.count(topology::NodeType::kGpu) == 1)
    return {topology::kLocalBandwidth, topology::kLocalBandwidth};
  if (paths.wires) return {inter ? paths.wires->toNets : paths.wires->toGpus, paths.wires->total};
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
    for (topology::NodeId node : system.nodes(inter ? topology::NodeType::kNet : topology::NodeType::kGpu)) {
      const paths::Path& path = paths.path(gpu, node);
      if (path.hops > 0) found.max = std::max(found.max, path.bandwidth);
    }
    found.total = std::max(found.total, paths::sendBandwidth(system, gpu));
  }
  return found;
}

struct HostChannels::SearchData {
  SearchData(const topology::System& system, const paths::PathTable& paths, const paths::Locality& locality)
      : space(system, paths, locality), routes(space) {}

  SearchSpace space;
  UsableRoutesByLimits routes;
  SearchWorkspace workspace;
};

HostChannels::HostChannels(const topology::System& system, const paths::PathTable& paths,
                           const paths::Locality& locality, const ChannelOptions& options)
    : options_(options),
      data_(std::make_unique<SearchData>(system, paths, locality)),
      rules_(system.rules()),
      bandwidth_(bandwidthOf(system, paths)),
      gpuCount_(system.count(topology::NodeType::kGpu)) {
  lowestSm_ = system.count(topology::NodeType::kGpu) > 0
                  ? system.gpu(system.node(topology::NodeType::kGpu, 0)).sm
                  : 0;
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu))
    lowestSm_ = std::min(lowestSm_, system.gpu(gpu).sm);
  if (rules_.bandwidthOfWires) lowestSm_ = std::min(lowestSm_, system.lowestDeviceSm());
}

HostChannels::~HostChannels() = default;

ChannelGraph HostChannels::compute(const GraphRequest& request) {
  return Driver(request, data_->space, data_->routes, data_->workspace, options_, bandwidth_, lowestSm_)
      .run();
}

bool HostChannels::onHostDevices() const {
  const topology::System& system = data_->space.system();
  const auto gpus = system.nodes(topology::NodeType::kGpu);
  return std::all_of(gpus.begin(), gpus.end(),
                     [&](topology::NodeId gpu) { return system.gpu(gpu).hostDevice; });
}

ChannelGraph HostChannels::headsOnHost(const GraphRequest& request) const {
  ChannelGraph graph = notComputed(request);
  if (gpuCount_ > kMaxHostHeads) return graph;
  const SearchSpace& space = data_->space;
  graph.gpuCount = gpuCount_;
  graph.nChannels = gpuCount_;
  graph.bwIntra = graph.bwInter = bandwidth_.max;
  if (gpuCount_ > 1)
    graph.typeIntra = paths::worstType(space.system(), space.paths(), topology::NodeType::kGpu);
  const bool nets = space.inter() && space.system().count(topology::NodeType::kNet) > 0;
  if (nets) graph.typeInter = paths::worstType(space.system(), space.paths(), topology::NodeType::kNet);
  const paths::Locality locality(space.system(), space.paths());
  for (int head = 0; head < gpuCount_; ++head) {
    graph.gpus.push_back(head);
    graph.gpus.resize(static_cast<std::size_t>((head + 1) * gpuCount_));
    const topology::NodeId gpu = space.system().node(topology::NodeType::kGpu, head);
    const int net = nets ? space.system().position(locality.localNet(gpu, 0)) : -1;
    graph.nets.insert(graph.nets.end(), {net, net});
  }
  return graph;
}

GraphOptions graphOptions(const GraphOptions& offered, const Settings& settings) {
  const std::int64_t nvls = settings.integer(Setting::kNvlsEnable);
  const bool collnetWanted =
      !settings.isSet(Setting::kCollnetEnable) || settings.integer(Setting::kCollnetEnable) == 1;
  return {nvls == kNvlsIfOffered ? offered.nvls : nvls != 0, offered.collnet && collnetWanted,
          offered.hostSwitch && nvls != 0};
}

HostGraphs computeGraphs(HostChannels& channels, const GraphOptions& options) {
  HostGraphs graphs;
  const auto fill = [&](GraphKind kind, Pattern pattern, int minimum, int maximum, bool wanted) {
    const bool collnet = kind == GraphKind::kCollnetChain || kind == GraphKind::kCollnetDirect;
    const GraphRequest request{graphId(kind), pattern, collnet, minimum, maximum};
    graphs[kind] = wanted ? channels.compute(request) : notComputed(request);
  };
  fill(GraphKind::kRing, Pattern::kRing, 1, kMaxRings, true);
  const int rings = graphs[GraphKind::kRing].nChannels;
  fill(GraphKind::kTree, Pattern::kBalancedTree, rings, rings, true);
  fill(GraphKind::kCollnetChain, Pattern::kTree, rings, rings, options.collnet);
  fill(GraphKind::kCollnetDirect, Pattern::kCollnetDirect, 1, paths::kMaxChannels, options.collnet);
  if (options.hostSwitch && channels.onHostDevices())
    graphs[GraphKind::kNvls] =
        channels.headsOnHost({graphId(GraphKind::kNvls), Pattern::kNvls, false, 1, paths::kMaxChannels});
  else
    fill(GraphKind::kNvls, Pattern::kNvls, 1, paths::kMaxChannels,
         options.nvls && channels.gpuCount() >= channels.rules().nvlsGpus);
  return graphs;
}

}  // namespace xylem::search
