#include "plan/why_room.h"

#include <algorithm>

#include "channels/search_space.h"

namespace xylem {
namespace {

class Account {
 public:
  Account(const HostPlan& host, const ChannelGraph& graph)
      : system_(host.system()),
        graph_(graph),
        locality_(system_, host.paths.paths),
        space_(system_, host.paths.paths, locality_),
        intra_(space_.intraLoad(graph.bwIntra)),
        inter_(space_.interLoad(graph.bwInter)),
        interHalf_(space_.interLoad(graph.bwInter / 2)) {}

  RoomLeft find() {
    for (int channel = 0; channel < graph_.nChannels; ++channel) takeChannel(channel);
    if (space_.gpuCount() > 1)
      for (int gpu = 0; gpu < space_.gpuCount(); ++gpu) {
        check(gpuNode(gpu), Passage::kToGpus);
        check(gpuNode(gpu), Passage::kFromGpus);
      }
    checkNets();
    return std::move(room_);
  }

 private:
  NodeId gpuNode(int gpu) const { return system_.node(NodeType::kGpu, gpu); }
  bool ring() const { return graph_.pattern == Pattern::kRing; }

  void take(const Route& route, const Load& load) {
    if (!space_.take(route, load)) room_.exact = false;
  }

  void takeChannel(int channel) {
    const int last = graph_.gpuCount - 1;
    for (int i = 0; i < last; ++i)
      take(space_.gpuToGpu(graph_.gpu(channel, i), graph_.gpu(channel, i + 1)), intra_);
    if (space_.netCount() == 0) {
      if (ring() && last > 0)
        take(space_.gpuToGpu(graph_.gpu(channel, last), graph_.gpu(channel, 0)), intra_);
      return;
    }
    const int start = graph_.startNet(channel);
    const int end = graph_.endNet(channel);
    if (start < 0 || end < 0) return;
    space_.takeNetBandwidth(start, static_cast<float>(static_cast<int>(graph_.bwInter)));
    take(space_.netToGpu(start, graph_.gpu(channel, 0)), inter_);
    if (graph_.pattern == Pattern::kBalancedTree) {
      take(space_.gpuToNet(graph_.gpu(channel, 0), end), interHalf_);
      take(space_.gpuToNet(graph_.gpu(channel, std::min(1, last)), end), interHalf_);
    } else {
      const int leaves = ring() ? last : graph_.pattern == Pattern::kSplitTree ? std::min(1, last) : 0;
      take(space_.gpuToNet(graph_.gpu(channel, leaves), end), inter_);
    }
  }

  // The first link of the route without room for the load; kNoLink if it fits.
  FullLink fullLink(const Route& route, const Load& load, NodeId towards) const {
    for (const RouteStep& step : space_.stepsOf(route)) {
      const float free = space_.free().of(step.link);
      if (free < load.amount(step.share)) return {step.link, free, load.amount(step.share), towards};
    }
    return {};
  }

  // Is every route in the passage too far or too full?
  void check(NodeId node, Passage passage) {
    const int gpu = system_.position(node);
    Stop stop{node, passage, {}, false};
    for (int other = 0; other < space_.gpuCount(); ++other) {
      if (other == gpu) continue;
      const Route& route =
          passage == Passage::kToGpus ? space_.gpuToGpu(gpu, other) : space_.gpuToGpu(other, gpu);
      if (!note(stop, route, intra_, graph_.typeIntra, gpuNode(other))) return;
    }
    room_.stops.push_back(std::move(stop));
  }

  // A channel needs a NET to start from and the same or another to end at.
  void checkNets() {
    if (space_.netCount() == 0) return;
    Stop starts{kNoNode, Passage::kFromNet, {}, false};
    bool open = false;
    for (int net = 0; net < space_.netCount() && !open; ++net) {
      const NodeId node = system_.node(NodeType::kNet, net);
      if (space_.netBandwidth(net) < static_cast<float>(static_cast<int>(graph_.bwInter))) {
        addLink(starts, {system_.findLink(node, system_.links(node).front().to, LinkType::kNet),
                         space_.netBandwidth(net), graph_.bwInter, node});
        continue;
      }
      for (int gpu = 0; gpu < space_.gpuCount() && !open; ++gpu)
        open = !note(starts, space_.netToGpu(net, gpu), inter_, graph_.typeInter, gpuNode(gpu));
    }
    if (!open) room_.stops.push_back(std::move(starts));
    Stop ends{kNoNode, Passage::kToNet, {}, false};
    for (int net = 0; net < space_.netCount(); ++net)
      for (int gpu = 0; gpu < space_.gpuCount(); ++gpu)
        if (!note(ends, space_.gpuToNet(gpu, net), inter_, graph_.typeInter,
                  system_.node(NodeType::kNet, net)))
          return;
    room_.stops.push_back(std::move(ends));
  }

  // True if the route is no way for another channel.
  bool note(Stop& stop, const Route& route, const Load& load, PathType limit, NodeId towards) const {
    if (route.type > limit || route.bandwidth <= 0) {
      stop.tooFar = true;
      return true;
    }
    const FullLink full = fullLink(route, load, towards);
    if (full.link == kNoLink) return false;
    addLink(stop, full);
    return true;
  }

  static void addLink(Stop& stop, const FullLink& full) {
    for (const FullLink& known : stop.links)
      if (known.link == full.link) return;
    stop.links.push_back(full);
  }

  const System& system_;
  const ChannelGraph& graph_;
  Locality locality_;
  SearchSpace space_;
  Load intra_, inter_, interHalf_;
  RoomLeft room_;
};

}  // namespace

RoomLeft roomLeft(const HostPlan& host, GraphKind kind) {
  const ChannelGraph& graph = host.graphs[kind];
  const bool counted =
      kind == GraphKind::kRing || kind == GraphKind::kTree || kind == GraphKind::kCollnetChain;
  if (!counted || graph.nChannels == 0 || graph.fallback) return {};
  return Account(host, graph).find();
}

}  // namespace xylem
