#include "planner/connect/p2p_channels.h"

#include <algorithm>
#include <bit>

#include "planner/paths/locality.h"
#include "planner/topology/bandwidths.h"

namespace xylem {
namespace {

constexpr int kChannelsPerLocalPeer = 2;
// Towards ranks elsewhere at most this many, and fewer when there are so many ranks that a channel would
// carry more operations than this.
constexpr int kChannelsPerNetPeer = 2;
constexpr int kOperationsPerChannel = 4;

int powerUp(int value) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(value))); }
int powerDown(int value) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(value))); }

// NVLinks count by how many of them the path is wide.
int towardsGpu(const RankView& view, NodeId gpu, NodeId peer) {
  const Path& path = view.paths->path(peer, gpu);
  if (path.type != PathType::kNvl) return kChannelsPerLocalPeer;
  const float perLink = nvlinkBandwidth(view.system->gpu(gpu).sm);
  return kChannelsPerLocalPeer * std::max(1, static_cast<int>(path.bandwidth / perLink));
}

int towardsNet(const Locality& locality, NodeId gpu, int ranks, int channels, const ConnectOptions& options) {
  if (options.channelsPerNetPeer >= 0) return options.channelsPerNetPeer;
  int wanted = kChannelsPerNetPeer;
  while (wanted * static_cast<long>(ranks) > static_cast<long>(channels) * kOperationsPerChannel &&
         wanted > 1)
    wanted /= 2;
  return std::max(locality.localNetCountByBandwidth(gpu), wanted);
}

}  // namespace

P2pChannels countP2pChannels(const RankView& view, int ranks, int channels, const ConnectOptions& options) {
  const System& system = *view.system;
  const Locality locality(system, *view.paths);
  const int total = std::max(std::min(channels, options.maxP2pChannels), options.minP2pChannels);
  P2pChannels result;
  int perPeer = total;
  const auto atMost = [&](int wanted, PeerLimit limit, NodeId gpu, NodeId peer) {
    if (wanted >= perPeer) return;
    perPeer = wanted;
    result.limit = limit;
    result.gpu = gpu;
    result.peer = peer;
  };
  const bool alone = ranks == system.count(NodeType::kGpu);
  for (NodeId gpu : system.nodes(NodeType::kGpu)) {
    for (NodeId peer : system.nodes(NodeType::kGpu))
      if (peer != gpu) atMost(towardsGpu(view, gpu, peer), PeerLimit::kLocal, gpu, peer);
    if (!alone) atMost(towardsNet(locality, gpu, ranks, total, options), PeerLimit::kNet, gpu, kNoNode);
  }
  result.total = std::min(powerUp(total), powerDown(options.limits.argumentMax));
  result.perPeer = std::min(powerUp(perPeer), result.total);
  return result;
}

}  // namespace xylem
