#include "connect/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"

namespace xylem {
namespace {

// Ranks whose channel 0 starts at the same rank form a node; nodes are numbered by their first rank.
JobNodes numberNodes(const Job& job) {
  JobNodes nodes;
  std::map<int, int> nodeOfStart;
  std::vector<int> sizes;
  for (int rank = 0; rank < job.ranks(); ++rank) {
    const RankView& view = job.view(rank);
    const int start = job.rankAt(view, *view.ring, 0, 0, rank / job.ranksPerHost);
    const auto [found, isNew] = nodeOfStart.emplace(start, nodes.count());
    if (isNew) {
      nodes.firstRank.push_back(rank);
      sizes.push_back(0);
    }
    nodes.ofRank.push_back(found->second);
    nodes.localRank.push_back(sizes[static_cast<std::size_t>(found->second)]++);
  }
  nodes.maxLocalRanks = *std::max_element(sizes.begin(), sizes.end());
  return nodes;
}

// The chains of all nodes, one after the other. On odd nodes pairs of channels change places when rings cross
// NICs, so that a ring leaves a host by the NIC it enters the next one.
std::vector<int> joinChains(const Job& job, const JobNodes& nodes, int channel, bool swapOnOddNodes) {
  std::vector<int> ring;
  ring.reserve(static_cast<std::size_t>(job.ranks()));
  for (int node = 0; node < nodes.count(); ++node) {
    const int first = nodes.firstRank[static_cast<std::size_t>(node)];
    const RankView& view = job.view(first);
    const int source = swapOnOddNodes && node % 2 == 1 ? channel ^ 1 : channel;
    for (int i = 0; i < view.ring->gpuCount; ++i)
      ring.push_back(job.rankAt(view, *view.ring, source, i, first / job.ranksPerHost));
  }
  return ring;
}

void startAtRankZero(std::vector<int>& ring) {
  std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), 0), ring.end());
}

void checkRing(const std::vector<int>& ring, int channel, int ranks) {
  std::vector<bool> seen(static_cast<std::size_t>(ranks), false);
  for (int rank : ring) seen[static_cast<std::size_t>(rank)] = true;
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end() || static_cast<int>(ring.size()) != ranks)
    throw Error(ResultCode::kInternalError, "the ring of channel {} does not contain rank {}", channel,
                missing - seen.begin());
}

}  // namespace

Connections connect(const Job& job, const Settings& settings) {
  Connections c;
  c.nodes = numberNodes(job);
  c.ring = merge(job, &RankView::ring);
  c.tree = merge(job, &RankView::tree);
  const int searched = c.ring.nChannels = c.tree.nChannels = std::min(c.ring.nChannels, c.tree.nChannels);
  int lowestSm = 0;
  for (const RankView& view : job.views)
    for (NodeId gpu : view.system->nodes(NodeType::kGpu))
      lowestSm = lowestSm == 0 ? view.system->gpu(gpu).sm : std::min(lowestSm, view.system->gpu(gpu).sm);
  c.source =
      channelSources({searched, c.nodes.count(), lowestSm, c.ring.bwIntra}, ChannelLimits::from(settings));
  c.nChannels = c.collChannels = static_cast<int>(c.source.size());
  const bool swap = c.ring.crossNic != 0 && searched % 2 == 0;
  for (int channel = 0; channel < c.nChannels; ++channel) {
    const int source = c.source[static_cast<std::size_t>(channel)];
    const auto same = std::find(c.source.begin(), c.source.begin() + channel, source) - c.source.begin();
    if (same < channel) {
      c.rings.push_back(c.rings[static_cast<std::size_t>(same)]);
      continue;
    }
    c.rings.push_back(joinChains(job, c.nodes, source, swap));
    startAtRankZero(c.rings.back());
    checkRing(c.rings.back(), channel, job.ranks());
  }
  return c;
}

std::optional<int> ringNet(const RankView& view, int searched, int channel, int gpu) {
  const ChannelGraph& ring = *view.ring;
  if (view.system->count(NodeType::kNet) == 0) return std::nullopt;
  const int source = channel % searched;
  return ring.gpu(source, 0) == gpu ? ring.startNet(source) : ring.endNet(source);
}

std::vector<LogLine> ringLines(const Connections& connections) {
  constexpr std::size_t kLineLimit = 127;
  std::vector<LogLine> lines;
  const auto ranks = connections.nodes.ofRank.size();
  const std::size_t width = std::to_string(ranks - 1).size();
  for (int channel = 0; channel < connections.nChannels; ++channel) {
    std::string text = fmt::format("Channel {:02d}/{:02d} :", channel, connections.nChannels);
    for (int rank : connections.rings[static_cast<std::size_t>(channel)]) {
      text += fmt::format(" {:{}d}", rank, width);
      if (text.size() <= kLineLimit) continue;
      text.resize(kLineLimit - 3);
      text += "...";
      break;
    }
    lines.push_back({LogLevel::kInfo, Subsystem::kInit, std::move(text)});
  }
  return lines;
}

}  // namespace xylem
