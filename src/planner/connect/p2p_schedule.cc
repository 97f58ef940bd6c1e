#include "planner/connect/p2p_schedule.h"

#include <bit>

namespace xylem {
namespace {

// Local ranks whose rounds share a channel, and the range of channel numbers before the modulus.
constexpr int kRanksPerChannel = 8;
constexpr int kChannelRange = 256;

// 0 and then ever longer steps modulo the next power of two: every distance once, near ones spread out.
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

std::vector<P2pRound> p2pSchedule(const JobNodes& nodes, int rank) {
  const auto ranks = static_cast<int>(nodes.ofRank.size());
  const auto at = static_cast<std::size_t>(rank);
  // Nodes of different sizes make one flat node.
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

}  // namespace xylem
