#include "tuning/p2p_schedule.h"

#include <algorithm>
#include <bit>

namespace xylem {
namespace {

// Operations of one batch on a channel, and the number of distinct bases.
constexpr int kRoundsPerBatch = 8;
constexpr int kBases = 256;

// Every distance from 0 to size - 1 once, in an order that spreads them.
std::vector<int> distances(int size) {
  std::vector<int> all;
  const auto wrap = std::bit_ceil(static_cast<unsigned>(size));
  unsigned distance = 0;
  for (unsigned i = 1; i <= wrap; ++i) {
    if (distance < static_cast<unsigned>(size)) all.push_back(static_cast<int>(distance));
    distance = (distance + i) % wrap;
  }
  return all;
}

std::vector<std::vector<int>> ranksByNode(std::span<const int> nodeOfRank) {
  std::vector<std::vector<int>> nodes;
  for (std::size_t rank = 0; rank < nodeOfRank.size(); ++rank) {
    const auto node = static_cast<std::size_t>(nodeOfRank[rank]);
    if (node >= nodes.size()) nodes.resize(node + 1);
    nodes[node].push_back(static_cast<int>(rank));
  }
  return nodes;
}

// Uneven nodes count as one.
void flatten(std::vector<std::vector<int>>& nodes, std::size_t ranks) {
  const bool even = std::all_of(nodes.begin(), nodes.end(),
                                [&](const auto& node) { return node.size() == nodes.front().size(); });
  if (even) return;
  nodes.assign(1, std::vector<int>(ranks));
  for (std::size_t rank = 0; rank < ranks; ++rank) nodes[0][rank] = static_cast<int>(rank);
}

}  // namespace

std::vector<P2pRound> p2pSchedule(int rank, std::span<const int> nodeOfRank) {
  std::vector<std::vector<int>> nodes = ranksByNode(nodeOfRank);
  flatten(nodes, nodeOfRank.size());
  const int count = static_cast<int>(nodes.size());
  const int size = static_cast<int>(nodes.front().size());
  const int node = count == 1 ? 0 : nodeOfRank[static_cast<std::size_t>(rank)];
  const auto& mine = nodes[static_cast<std::size_t>(node)];
  const int local = static_cast<int>(std::find(mine.begin(), mine.end(), rank) - mine.begin());
  const auto at = [&](int n, int l) {
    return nodes[static_cast<std::size_t>((n + count) % count)][static_cast<std::size_t>((l + size) % size)];
  };
  std::vector<P2pRound> rounds;
  rounds.reserve(nodeOfRank.size());
  const std::vector<int> within = distances(size);
  for (const int n : distances(count))
    for (const int l : within) rounds.push_back({at(node + n, local + l), at(node - n, local - l)});
  return rounds;
}

int p2pChannelBase(int round, int nodes, int maxLocalRanks) {
  if (nodes <= 1) return round % kBases;
  const int batches = (maxLocalRanks + kRoundsPerBatch - 1) / kRoundsPerBatch;
  return (round / maxLocalRanks * batches + round % maxLocalRanks / kRoundsPerBatch) % kBases;
}

int p2pChannel(int base, int part, int channels) {
  const int bits = std::countr_zero(static_cast<unsigned>(channels));
  int reversed = 0;
  for (int bit = 0; bit < bits; ++bit)
    if ((part >> bit & 1) != 0) reversed |= 1 << (bits - 1 - bit);
  return (base + reversed) % channels;
}

}  // namespace xylem
