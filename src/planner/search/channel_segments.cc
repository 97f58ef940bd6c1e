#include "planner/search/channel_segments.h"

#include <algorithm>

namespace xylem::search {
namespace {

class SegmentList {
 public:
  SegmentList(const SearchSpace& space, const ChannelGraph& graph, int channel)
      : space_(space), graph_(graph), channel_(channel), last_(graph.gpuCount - 1) {}

  std::vector<ChannelSegment> list() {
    if (graph_.gpuCount == 0) return {};
    if (graph_.pattern == Pattern::kNvls || graph_.pattern == Pattern::kCollnetDirect) {
      enter();
      leave(0, Portion::kInter);
      graph_.pattern == Pattern::kNvls ? throughSwitch() : toAllOthers();
      return std::move(segments_);
    }
    enter();
    for (int i = 0; i < last_; ++i) {
      if (i < 2) leaveTree(i);
      toGpu(gpu(i), gpu(i + 1), Portion::kIntra);
    }
    if (last_ < 2) leaveTree(last_);
    if (graph_.pattern != Pattern::kRing) return std::move(segments_);
    if (space_.netCount() > 0)
      leave(last_, Portion::kInter);
    else if (last_ > 0)
      toGpu(gpu(last_), gpu(0), Portion::kIntra);
    return std::move(segments_);
  }

 private:
  int gpu(int position) const { return graph_.gpu(channel_, position); }
  topology::NodeId gpuNode(int gpu) const { return space_.system().node(topology::NodeType::kGpu, gpu); }
  topology::NodeId netNode(int net) const { return space_.system().node(topology::NodeType::kNet, net); }
  bool hasNets() const {
    return space_.netCount() > 0 && graph_.startNet(channel_) >= 0 && graph_.endNet(channel_) >= 0;
  }

  void add(topology::NodeId from, topology::NodeId to, const Route& route, Portion portion) {
    segments_.push_back({from, to, &route, portion});
  }
  void toGpu(int from, int to, Portion portion) {
    add(gpuNode(from), gpuNode(to), space_.gpuToGpu(from, to), portion);
  }
  void enter() {
    if (!hasNets()) return;
    const int net = graph_.startNet(channel_);
    add(netNode(net), gpuNode(gpu(0)), space_.netToGpu(net, gpu(0)), Portion::kInter);
  }
  void leave(int position, Portion portion) {
    if (!hasNets()) return;
    const int net = graph_.endNet(channel_);
    add(gpuNode(gpu(position)), netNode(net), space_.gpuToNet(gpu(position), net), portion);
  }
  // Trees leave where their pattern says: from the first GPU, from the second, or half from both. A single
  // GPU is both.
  void leaveTree(int position) {
    switch (graph_.pattern) {
      case Pattern::kTree:
        if (position == 0) leave(0, Portion::kInter);
        break;
      case Pattern::kSplitTree:
        if (position == std::min(1, last_)) leave(position, Portion::kInter);
        break;
      case Pattern::kBalancedTree:
        leave(position, Portion::kInterHalf);
        if (last_ == 0) leave(position, Portion::kInterHalf);
        break;
      default:
        break;
    }
  }

  // Every GPU exchanges with the NVSwitch.
  void throughSwitch() {
    if (!space_.hasNvs()) return;
    const topology::NodeId nvs = space_.system().node(topology::NodeType::kNvs, 0);
    const auto portion = [&](int g) { return g == gpu(0) ? Portion::kIntraTwice : Portion::kIntra; };
    for (int g = 0; g < space_.gpuCount(); ++g) add(nvs, gpuNode(g), space_.nvsToGpu(g), portion(g));
    for (int g = 0; g < space_.gpuCount(); ++g) add(gpuNode(g), nvs, space_.gpuToNvs(g), portion(g));
  }

  void toAllOthers() {
    for (int g = 0; g < space_.gpuCount(); ++g)
      if (g != gpu(0)) toGpu(gpu(0), g, Portion::kIntraPart);
    for (int g = 0; g < space_.gpuCount(); ++g)
      if (g != gpu(0)) toGpu(g, gpu(0), Portion::kIntraPart);
  }

  const SearchSpace& space_;
  const ChannelGraph& graph_;
  int channel_;
  int last_;
  std::vector<ChannelSegment> segments_;
};

}  // namespace

std::vector<ChannelSegment> segmentsOf(const SearchSpace& space, const ChannelGraph& graph, int channel) {
  return SegmentList(space, graph, channel).list();
}

}  // namespace xylem::search
