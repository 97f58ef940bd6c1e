#include "planner/connect/job.h"

#include <algorithm>

#include "core/error.h"

namespace xylem::connect {

// Slots number the places for ranks, host after host. Ranks take the slots of their host in ascending order.
void Job::place(const std::vector<int>& hostOfRank) {
  int slots = 0;
  firstSlot_.clear();
  for (int host = 0; host < hosts(); ++host) {
    firstSlot_.push_back(slots);
    slots += shapeOf(host).ranks();
  }
  if (slots != static_cast<int>(hostOfRank.size()))
    throw Error(ResultCode::kInvalidArgument,
                "a placement of {} ranks on hosts that hold {}: expected the host of each of them",
                hostOfRank.size(), slots);
  std::vector<int> used(shapeOfHost.size(), 0);
  places_.assign(hostOfRank.size(), {});
  rankOfSlot_.assign(hostOfRank.size(), -1);
  for (std::size_t rank = 0; rank < hostOfRank.size(); ++rank) {
    const int host = hostOfRank[rank];
    if (host < 0 || host >= hosts())
      throw Error(ResultCode::kInvalidArgument, "rank {} is placed on host {}: there are hosts 0 to {}", rank,
                  host, hosts() - 1);
    int& local = used[static_cast<std::size_t>(host)];
    if (local == shapeOf(host).ranks())
      throw Error(ResultCode::kInvalidArgument, "rank {} is one too many on host {}, which holds {}", rank,
                  host, local);
    places_[rank] = {host, local};
    rankOfSlot_[static_cast<std::size_t>(firstSlot_[static_cast<std::size_t>(host)] + local)] =
        static_cast<int>(rank);
    ++local;
  }
}

topology::RankNames Job::rankNames(int host) const {
  const auto first = rankOfSlot_.begin() + firstSlot_[static_cast<std::size_t>(host)];
  return topology::RankNames(std::vector<int>(first, first + shapeOf(host).ranks()));
}

std::vector<int> hostsInBlocks(std::span<const int> ranksOfHosts) {
  std::vector<int> hostOfRank;
  for (std::size_t host = 0; host < ranksOfHosts.size(); ++host)
    hostOfRank.insert(hostOfRank.end(), static_cast<std::size_t>(ranksOfHosts[host]), static_cast<int>(host));
  return hostOfRank;
}

std::vector<int> hostsInTurn(std::span<const int> ranksOfHosts) {
  const int most = ranksOfHosts.empty() ? 0 : *std::max_element(ranksOfHosts.begin(), ranksOfHosts.end());
  std::vector<int> hostOfRank;
  for (int turn = 0; turn < most; ++turn)
    for (std::size_t host = 0; host < ranksOfHosts.size(); ++host)
      if (turn < ranksOfHosts[host]) hostOfRank.push_back(static_cast<int>(host));
  return hostOfRank;
}

void Job::placeInBlocks() { place(hostsInBlocks(ranksOfHosts())); }

void Job::placeRoundRobin() { place(hostsInTurn(ranksOfHosts())); }

std::vector<int> Job::ranksOfHosts() const {
  std::vector<int> ranks;
  for (int host = 0; host < hosts(); ++host) ranks.push_back(shapeOf(host).ranks());
  return ranks;
}

// One pass over the ranks: `nodeOfStart` maps the rank at which a first channel starts to the node of that
// channel.
JobNodes numberNodes(const Job& job) {
  JobNodes nodes;
  const auto ranks = static_cast<std::size_t>(job.ranks());
  nodes.ofRank.resize(ranks);
  nodes.localRank.resize(ranks);
  std::vector<int> nodeOfStart(ranks, -1);
  std::vector<int> sizes;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const int r = static_cast<int>(rank);
    const RankView& view = job.view(r);
    const int start = job.rankAt(job.hostOf(r), view, (*view.graphs)[search::GraphKind::kRing], 0, 0);
    int& node = nodeOfStart[static_cast<std::size_t>(start)];
    if (node < 0) {
      node = nodes.count();
      nodes.firstRank.push_back(r);
      sizes.push_back(0);
    }
    nodes.ofRank[rank] = node;
    nodes.localRank[rank] = sizes[static_cast<std::size_t>(node)]++;
  }
  nodes.maxLocalRanks = *std::max_element(sizes.begin(), sizes.end());
  nodes.minLocalRanks = *std::min_element(sizes.begin(), sizes.end());
  nodes.begin_.assign(1, 0);
  for (int size : sizes) nodes.begin_.push_back(nodes.begin_.back() + size);
  nodes.ranks_.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    nodes.ranks_[static_cast<std::size_t>(nodes.begin_[static_cast<std::size_t>(nodes.ofRank[rank])] +
                                          nodes.localRank[rank])] = static_cast<int>(rank);
  return nodes;
}

}  // namespace xylem::connect
