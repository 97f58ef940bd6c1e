#include "planner/connect/p2p.h"

#include <algorithm>
#include <bit>
#include <numeric>

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
  const rules::RuleSet& rules = view.system->rules();
  const bool nvlinks =
      path.type == paths::PathType::kNvl || (rules.nvbWidensP2p && path.type == paths::PathType::kNvb);
  if (!nvlinks) return kChannelsPerLocalPeer;
  const float perLink = topology::nvlinkBandwidth(view.system->gpu(gpu).sm, rules);
  return kChannelsPerLocalPeer * std::max(1, static_cast<int>(path.bandwidth / perLink));
}

// The channels between a GPU and a rank on another host: at least the NICs that use up the GPU's link to its
// CPU.
int towardsNet(const paths::Locality& locality, topology::NodeId gpu, int ranks, int channels,
               const ConnectOptions& options, int leastChoice) {
  if (options.channelsPerNetPeer >= leastChoice) return options.channelsPerNetPeer;
  int wanted = kChannelsPerNetPeer;
  while (wanted * static_cast<long>(ranks) > static_cast<long>(channels) * kPeersPerChannel && wanted > 1)
    wanted /= 2;
  return std::max(locality.netsByBandwidth(gpu).count, wanted);
}

// The channels between a GPU and a rank on another host by newer rules: as many as the bandwidth fills of the NICs that use
// up the GPU's link to its CPU.
int towardsNets(const RankView& view, const paths::Locality& locality, topology::NodeId gpu,
                const ConnectOptions& options) {
  if (options.channelsPerNetPeer > 0) return options.channelsPerNetPeer;
  if (view.system->count(topology::NodeType::kNet) == 0) return kChannelsPerNetPeer;
  const paths::Locality::NetsByBandwidth nets = locality.netsByBandwidth(gpu);
  const int perChannel = std::max(options.netBandwidthPerP2pChannel, 1);
  return std::max(nets.count, (static_cast<int>(nets.bandwidth) + perChannel - 1) / perChannel);
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

int reverseBits(int value, int channels) {
  int reversed = 0;
  for (int bit = 1; bit < channels; bit *= 2) {
    reversed = reversed * 2 + (value & 1);
    value /= 2;
  }
  return reversed;
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
  const int leastChoice = system.rules().netPeersFromOne ? 1 : 0;  // of the variable; below, it is ignored
  const bool alone = ranks == system.count(topology::NodeType::kGpu);
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
    for (topology::NodeId peer : system.nodes(topology::NodeType::kGpu))
      if (peer != gpu) atMost(towardsGpu(view, gpu, peer), PeerLimit::kLocal, gpu, peer);
    if (!alone)
      atMost(towardsNet(locality, gpu, ranks, total, options, leastChoice), PeerLimit::kNet, gpu,
             topology::kNoNode);
  }
  result.total = std::min(powerUp(total), powerDown(options.limits.argumentMax));
  result.perPeer = std::min(powerUp(perPeer), result.total);
  return result;
}

// Every rank asks for itself, and all take the least: of the pairs on its host, and of its NICs if there are others.
P2pNeed leastP2pNeed(const Connections& c) {
  P2pNeed least{.channels = paths::kMaxChannels};
  for (std::size_t view = 0; view < c.job.views.size(); ++view) {
    const topology::System& system = *c.job.views[view].system;
    const paths::Locality locality(system, *c.job.views[view].paths);
    const bool alone = c.job.ranks() == system.count(topology::NodeType::kGpu);
    const auto atMost = [&](int wanted, PeerLimit limit, topology::NodeId gpu, topology::NodeId peer) {
      if (wanted < least.channels) least = {wanted, limit, static_cast<int>(view), gpu, peer};
    };
    for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
      for (topology::NodeId peer : system.nodes(topology::NodeType::kGpu))
        if (peer != gpu) atMost(towardsGpu(c.job.views[view], gpu, peer), PeerLimit::kLocal, gpu, peer);
      if (!alone)
        atMost(towardsNets(c.job.views[view], locality, gpu, c.options), PeerLimit::kNet, gpu,
               topology::kNoNode);
    }
  }
  return least;
}

int p2pChannelsPerPeer(const Connections& c) { return powerUp(leastP2pNeed(c).channels); }

int p2pPeers(const Connections& c) {
  const int ranks = c.job.ranks();
  return c.rules().p2pMaxPeers ? std::min(c.options.maxP2pPeers.value_or(ranks), ranks) : ranks;
}

// Over several nodes a channel serves up to eight peers.
P2pChannels limitP2pChannels(const Connections& c, int perPeer, int channels) {
  const ConnectOptions& options = c.options;
  const int wanted = std::max(std::min(channels, options.maxP2pChannels), options.minP2pChannels);
  P2pChannels result;
  result.total = std::min(powerUp(wanted), powerDown(options.limits.argumentMax));
  result.perPeer = perPeer;
  if (c.nodes.count() > 1 && options.channelsPerNetPeer <= 0) {
    const int peers = (p2pPeers(c) + kRanksPerChannel - 1) / kRanksPerChannel;
    while (static_cast<long>(result.perPeer) * peers > result.total && result.perPeer > 1)
      result.perPeer /= 2;
    if (result.perPeer != perPeer) result.limit = PeerLimit::kTotal;
  } else {
    result.perPeer = std::min(result.perPeer, result.total);
  }
  return result;
}

int p2pGroupSize(const Connections& c) {
  if (!c.rules().p2pGroups) return 0;
  int size = c.nodes.count() > 1 ? std::max(c.options.p2pGroupSize, 1) : c.nodes.maxLocalRanks;
  for (int node = 0; node < c.nodes.count(); ++node) {
    const int local = static_cast<int>(c.nodes.ranks(node).size());
    if (local % size != 0 || local < size) size = std::gcd(size, local);
  }
  return size;
}

namespace {

// Group after group, by the distances between groups; inside a group one place after the other.
std::vector<P2pRound> scheduleOfGroups(const Connections& c, int rank) {
  const JobNodes& nodes = c.nodes;
  const int size = p2pGroupSize(c);
  std::vector<int> ranks;  // group after group
  for (int node = 0; node < nodes.count(); ++node)
    for (const int other : nodes.ranks(node)) ranks.push_back(other);
  const int groups = static_cast<int>(ranks.size()) / size;
  const int at = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  const int group = at / size;
  const int place = at % size;
  const auto rankOf = [&](int g, int p) { return ranks[static_cast<std::size_t>(g * size + p)]; };
  std::vector<P2pRound> rounds;
  for (int dg : distances(groups))
    for (int d = 0; d < size; ++d)
      rounds.push_back({rankOf((group + dg) % groups, (place + d) % size),
                        rankOf((group + groups - dg) % groups, (place + size - d) % size)});
  return rounds;
}

}  // namespace

// A round pairs each rank with the rank `dn` nodes and `dl` local ranks ahead, to which it sends, and with
// the one as far behind, from which it receives. All ranks go through the distances in the same order, so
// both ends of a transfer agree on its round.
std::vector<P2pRound> p2pSchedule(const Connections& c, int rank) {
  if (c.rules().p2pGroups) return scheduleOfGroups(c, rank);
  const JobNodes& nodes = c.nodes;
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

int p2pChannelOfRound(const Connections& c, int round, int channels) {
  const auto shared = [](int ranks) { return (ranks + kRanksPerChannel - 1) / kRanksPerChannel; };
  if (c.rules().p2pGroups) {
    const int size = p2pGroupSize(c);
    const int base =
        c.nodes.count() == 1 ? round : round / size * shared(size) + round % size / kRanksPerChannel;
    return reverseBits(base, channels);
  }
  if (c.nodes.count() == 1) return round % kChannelRange;
  const int perNode = c.nodes.maxLocalRanks;
  return (round / perNode * shared(perNode) + round % perNode / kRanksPerChannel) % kChannelRange;
}

int p2pChannelOfPart(const Connections& c, int base, int part, int channels) {
  return (base + (c.rules().p2pGroups ? part : reverseBits(part, channels))) % channels;
}

}  // namespace xylem::connect
