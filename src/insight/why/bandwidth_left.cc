// Takes the bandwidth of all channels of a graph from the host's links, as the search did, and then tries
// every route that a further channel could take:
//  - if all routes from or to a GPU (or all from or to NETs) are too full or too far, that passage is closed;
//  - else the open routes form a directed graph of GPUs, and a walk through all its GPUs decides whether they
//    leave an order for another channel.
#include "insight/why/bandwidth_left.h"

#include <algorithm>

#include "planner/search/channel_segments.h"

namespace xylem::why {
namespace {

// The search for a walk takes time and memory of 2^GPUs: it is left out for hosts with more GPUs.
constexpr int kMaxGpusToOrder = 12;

class Account {
 public:
  Account(const plan::HostPlan& host, const search::ChannelGraph& graph)
      : system_(host.system()),
        graph_(graph),
        locality_(system_, host.paths.paths),
        space_(system_, host.paths.paths, locality_),
        loads_(space_, graph),
        intra_(loads_.of(search::Portion::kIntra)),
        inter_(loads_.of(search::Portion::kInter)) {}

  BandwidthLeft find() {
    for (int channel = 0; channel < graph_.nChannels; ++channel) takeChannel(channel);
    if (space_.gpuCount() > 1) {
      checkGpus(Passage::kToGpus);
      checkGpus(Passage::kFromGpus);
      findOrder();
    }
    checkNets();
    return std::move(left_);
  }

 private:
  topology::NodeId gpuNode(int gpu) const { return system_.node(topology::NodeType::kGpu, gpu); }
  bool ring() const { return graph_.pattern == search::Pattern::kRing; }

  void take(const search::Route& route, const search::Load& load) {
    if (!space_.take(route, load)) left_.exact = false;
  }

  void takeChannel(int channel) {
    if (space_.netCount() > 0 && graph_.startNet(channel) >= 0)
      space_.takeNetBandwidth(graph_.startNet(channel), static_cast<float>(static_cast<int>(graph_.bwInter)));
    for (const search::ChannelSegment& leg : search::segmentsOf(space_, graph_, channel))
      take(*leg.route, loads_.of(leg.portion));
  }

  // The first link of the route that has too little bandwidth for the load; with kNoLink if the load fits.
  FullLink fullLink(const search::Route& route, const search::Load& load, topology::NodeId towards) const {
    for (const search::RouteStep& step : space_.stepsOf(route)) {
      const float free = space_.free().of(step.link);
      if (free < load.amount(step.share)) return {step.link, free, load.amount(step.share), towards};
    }
    return {};
  }

  const search::Route& route(int gpu, int other, Passage passage) const {
    return passage == Passage::kToGpus ? space_.gpuToGpu(gpu, other) : space_.gpuToGpu(other, gpu);
  }

  // Reports the passage closed at the GPUs whose routes in this direction are all too far or too full.
  void checkGpus(Passage passage) {
    ClosedPassage all{{}, passage, {}, false};
    for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
      ClosedPassage stop{{gpuNode(gpu)}, passage, {}, false};
      bool open = false;
      for (int other = 0; other < space_.gpuCount() && !open; ++other)
        open =
            other != gpu && !note(stop, route(gpu, other, passage), intra_, graph_.typeIntra, gpuNode(other));
      if (open) continue;
      all.nodes.push_back(gpuNode(gpu));
      for (const FullLink& full : stop.links) addLink(all, full);
      all.tooFar = all.tooFar || stop.tooFar;
    }
    // A link that is full on the way out is mostly full on the way in: the same links are not reported twice.
    const bool known =
        !left_.stops.empty() && std::all_of(all.links.begin(), all.links.end(), [&](const FullLink& full) {
          return contains(left_.stops.front(), full.link);
        });
    if (!all.nodes.empty() && !known) left_.stops.push_back(std::move(all));
  }

  // Finds out whether the open ways lead through all GPUs, and back to the first one if the ring closes
  // inside the host.
  void findOrder() {
    const int gpus = space_.gpuCount();
    std::vector<std::uint32_t> open(static_cast<std::size_t>(gpus), 0);
    ClosedPassage ignored;
    for (int a = 0; a < gpus; ++a)
      for (int b = 0; b < gpus; ++b) {
        if (a == b || note(ignored, space_.gpuToGpu(a, b), intra_, graph_.typeIntra, gpuNode(b))) continue;
        left_.ways.emplace_back(gpuNode(a), gpuNode(b));
        if (gpus <= kMaxGpusToOrder) open[static_cast<std::size_t>(a)] |= 1u << b;
      }
    if (gpus > kMaxGpusToOrder) return;
    const bool closes = ring() && space_.netCount() == 0;
    left_.order = OrderLeft::kNone;
    for (int first = 0; first < (closes ? 1 : gpus); ++first)
      if (leadsThroughAll(open, first, closes)) left_.order = OrderLeft::kPerhaps;
  }

  // Whether a walk from `first` passes all GPUs once, over edges from a to the set open[a]. Dynamic
  // programming over sets: ends[S] is the set of GPUs at which a walk through exactly the GPUs of S can end.
  static bool leadsThroughAll(const std::vector<std::uint32_t>& open, int first, bool closes) {
    const std::uint32_t all = (1u << open.size()) - 1;
    std::vector<std::uint32_t> ends(std::size_t{all} + 1, 0);
    ends[1u << first] = 1u << first;
    for (std::uint32_t passed = 1; passed <= all; ++passed)
      for (std::size_t last = 0; last < open.size(); ++last) {
        if ((ends[passed] >> last & 1u) == 0) continue;
        for (std::size_t next = 0; next < open.size(); ++next)
          if ((open[last] >> next & 1u) != 0 && (passed >> next & 1u) == 0)
            ends[passed | 1u << next] |= 1u << next;
      }
    if (!closes) return ends[all] != 0;
    for (std::size_t last = 0; last < open.size(); ++last)
      if ((ends[all] >> last & 1u) != 0 && (open[last] >> first & 1u) != 0) return true;
    return false;
  }

  // A channel needs a NET to start from, and the same or another one to end at. Reports
  // each of the two passages closed if no NET offers it.
  void checkNets() {
    if (space_.netCount() == 0) return;
    ClosedPassage starts{{}, Passage::kFromNet, {}, false};
    bool open = false;
    for (int net = 0; net < space_.netCount() && !open; ++net) {
      const topology::NodeId node = system_.node(topology::NodeType::kNet, net);
      if (space_.netBandwidth(net) < static_cast<float>(static_cast<int>(graph_.bwInter))) {
        addLink(starts, {system_.findLink(node, system_.links(node).front().to, topology::LinkType::kNet),
                         space_.netBandwidth(net), graph_.bwInter, node});
        continue;
      }
      for (int gpu = 0; gpu < space_.gpuCount() && !open; ++gpu)
        open = !note(starts, space_.netToGpu(net, gpu), inter_, graph_.typeInter, gpuNode(gpu));
    }
    if (!open) left_.stops.push_back(std::move(starts));
    ClosedPassage ends{{}, Passage::kToNet, {}, false};
    for (int net = 0; net < space_.netCount(); ++net)
      for (int gpu = 0; gpu < space_.gpuCount(); ++gpu)
        if (!note(ends, space_.gpuToNet(gpu, net), inter_, graph_.typeInter,
                  system_.node(topology::NodeType::kNet, net)))
          return;
    left_.stops.push_back(std::move(ends));
  }

  // Returns whether another channel cannot take the route, and adds the reason to `stop`.
  bool note(ClosedPassage& stop, const search::Route& route, const search::Load& load, paths::PathType limit,
            topology::NodeId towards) const {
    if (route.type > limit || route.bandwidth <= 0) {
      stop.tooFar = true;
      return true;
    }
    const FullLink full = fullLink(route, load, towards);
    if (full.link == topology::kNoLink) return false;
    addLink(stop, full);
    return true;
  }

  static bool contains(const ClosedPassage& stop, topology::LinkId link) {
    return std::any_of(stop.links.begin(), stop.links.end(),
                       [&](const FullLink& known) { return known.link == link; });
  }
  static void addLink(ClosedPassage& stop, const FullLink& full) {
    if (!contains(stop, full.link)) stop.links.push_back(full);
  }

  const topology::System& system_;
  const search::ChannelGraph& graph_;
  paths::Locality locality_;
  search::SearchSpace space_;
  search::ChannelLoads loads_;
  const search::Load &intra_, &inter_;
  BandwidthLeft left_;
};

}  // namespace

BandwidthLeft bandwidthLeft(const plan::HostPlan& host, search::GraphKind kind) {
  const search::ChannelGraph& graph = host.graphs[kind];
  const bool counted = kind == search::GraphKind::kRing || kind == search::GraphKind::kTree ||
                       kind == search::GraphKind::kCollnetChain;
  if (!counted || graph.nChannels == 0 || graph.fallback) return {};
  return Account(host, graph).find();
}

}  // namespace xylem::why
