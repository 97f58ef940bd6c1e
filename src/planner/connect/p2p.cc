#include "planner/connect/p2p.h"

#include <algorithm>
#include <bit>

#include "planner/paths/locality.h"
#include "planner/topology/bandwidths.h"

namespace xylem::connect {
namespace {

constexpr int kChannelsPerLocalPeer = 2;
// Towards ranks on other hosts this many channels, but fewer if a channel would then serve more than this
// many peers.
constexpr int kChannelsPerNetPeer = 2;
constexpr int kPeersPerChannel = 4;

int powerUp(int value) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(value))); }
int powerDown(int value) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(value))); }

// The channels between two GPUs of the host: over NVLink as many times more as the path is NVLinks wide.
int towardsGpu(const RankView& view, topology::NodeId gpu, topology::NodeId peer) {
  const paths::Path& path = view.paths->path(peer, gpu);
  if (path.type != paths::PathType::kNvl) return kChannelsPerLocalPeer;
  const float perLink = topology::nvlinkBandwidth(view.system->gpu(gpu).sm);
  return kChannelsPerLocalPeer * std::max(1, static_cast<int>(path.bandwidth / perLink));
}

// The channels between a GPU and a rank on another host: at least the NICs that use up the GPU's link to its
// CPU.
int towardsNet(const paths::Locality& locality, topology::NodeId gpu, int ranks, int channels,
               const ConnectOptions& options) {
  if (options.channelsPerNetPeer >= 0) return options.channelsPerNetPeer;
  int wanted = kChannelsPerNetPeer;
  while (wanted * static_cast<long>(ranks) > static_cast<long>(channels) * kPeersPerChannel && wanted > 1)
    wanted /= 2;
  return std::max(locality.localNetCountByBandwidth(gpu), wanted);
}

constexpr int kRanksPerChannel = 8;  // the rounds of this many local ranks share a channel
constexpr int kChannelRange = 256;   // channel numbers before the modulus by the number of channels

// Every distance below `size` once: 0, and then steps that grow by one, modulo the next power of two. So
// distances that follow each other are far apart.
std::vector<int> distances(int size) {
  std::vector<int> list;
  const int power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  int distance = 0;
  for (int step = 1; step <= power; ++step) {
    if (distance < size) list.push_back(distance);
    distance = (distance + step) % power;
  }
  return list;
}

bool isEven(const JobNodes& nodes) { return nodes.minLocalRanks == nodes.maxLocalRanks; }

}  // namespace

P2pChannels countP2pChannels(const RankView& view, int ranks, int channels, const ConnectOptions& options) {
  const topology::System& system = *view.system;
  const paths::Locality locality(system, *view.paths);
  const int total = std::max(std::min(channels, options.maxP2pChannels), options.minP2pChannels);
  P2pChannels result;
  int perPeer = total;
  const auto atMost = [&](int wanted, PeerLimit limit, topology::NodeId gpu, topology::NodeId peer) {
    if (wanted >= perPeer) return;
    perPeer = wanted;
    result.limit = limit;
    result.gpu = gpu;
    result.peer = peer;
  };
  const bool alone = ranks == system.count(topology::NodeType::kGpu);
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
    for (topology::NodeId peer : system.nodes(topology::NodeType::kGpu))
      if (peer != gpu) atMost(towardsGpu(view, gpu, peer), PeerLimit::kLocal, gpu, peer);
    if (!alone)
      atMost(towardsNet(locality, gpu, ranks, total, options), PeerLimit::kNet, gpu, topology::kNoNode);
  }
  result.total = std::min(powerUp(total), powerDown(options.limits.argumentMax));
  result.perPeer = std::min(powerUp(perPeer), result.total);
  return result;
}

// A round pairs each rank with the rank `dn` nodes and `dl` local ranks ahead, to which it sends, and with
// the one as far behind, from which it receives. All ranks go through the distances in the same order, so
// both ends of a transfer agree on its round.
std::vector<P2pRound> p2pSchedule(const JobNodes& nodes, int rank) {
  const auto ranks = static_cast<int>(nodes.ofRank.size());
  const auto at = static_cast<std::size_t>(rank);
  // If nodes differ in size, all ranks count as one node.
  const bool even = isEven(nodes);
  const int nodeCount = even ? nodes.count() : 1;
  const int localCount = even ? nodes.maxLocalRanks : ranks;
  const int node = even ? nodes.ofRank[at] : 0;
  const int local = even ? nodes.localRank[at] : rank;
  const auto rankOf = [&](int n, int l) { return even ? nodes.ranks(n)[static_cast<std::size_t>(l)] : l; };
  const std::vector<int> locals = distances(localCount);
  std::vector<P2pRound> rounds;
  for (int dn : distances(nodeCount))
    for (int dl : locals)
      rounds.push_back({rankOf((node + dn) % nodeCount, (local + dl) % localCount),
                        rankOf((node + nodeCount - dn) % nodeCount, (local + localCount - dl) % localCount)});
  return rounds;
}

int p2pChannelOfRound(const JobNodes& nodes, int round) {
  if (nodes.count() == 1) return round % kChannelRange;
  const int perNode = nodes.maxLocalRanks;
  const int shared = (perNode + kRanksPerChannel - 1) / kRanksPerChannel;
  return (round / perNode * shared + round % perNode / kRanksPerChannel) % kChannelRange;
}

int p2pChannelOfPart(int base, int part, int channels) {
  int reversed = 0;
  for (int bit = 1; bit < channels; bit *= 2) {
    reversed = reversed * 2 + (part & 1);
    part /= 2;
  }
  return (base + reversed) % channels;
}

}  // namespace xylem::connect
