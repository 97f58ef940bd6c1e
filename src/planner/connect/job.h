#pragma once
// A job: the ranks of all hosts, with the channel graphs that each found on its host, and the nodes that NCCL
// counts.
//
//   job.shapeOfHost = {0, 0, 1};      // two hosts of shape 0, then one of shape 1
//   job.placeInBlocks();
//   const RankView& view = job.view(rank);
//   int first = job.rankAt(job.hostOf(rank), view, (*view.graphs)[GraphKind::kRing], channel, 0);
//   JobNodes nodes = numberNodes(job);   // nodes.ofRank[rank], nodes.ranks(node)[localRank]
//
// Equal hosts share a *shape*. Ranks of one host that have no better way to each other than the network form *domains*,
// and each rank plans for its own domain. A *view* is the plan that the ranks of one domain of one shape make
// of their host. A view's graphs number its GPUs from 0; the `rank` of a GPU is the rank's place among all
// ranks of the host, in ascending order.

#include <span>
#include <vector>

#include "planner/paths/path_table.h"
#include "planner/search/channel_graph.h"
#include "planner/topology/system.h"

namespace xylem::connect {

struct RankView {
  const topology::System* system = nullptr;
  const paths::PathTable* paths = nullptr;
  const search::HostGraphs* graphs = nullptr;
};

// The ranks of one kind of host.
struct HostShape {
  std::vector<int> viewOfLocal;  // by local rank: index into Job::views

  int ranks() const { return static_cast<int>(viewOfLocal.size()); }
};

class Job {
 public:
  std::vector<RankView> views;
  std::vector<HostShape> shapes;
  std::vector<int> shapeOfHost;

  int ranks() const { return static_cast<int>(places_.size()); }
  int hosts() const { return static_cast<int>(shapeOfHost.size()); }

  int hostOf(int rank) const { return places_[static_cast<std::size_t>(rank)].host; }
  // The rank's place among the ranks of its host.
  int localOf(int rank) const { return places_[static_cast<std::size_t>(rank)].local; }
  int viewOf(int rank) const {
    return shapeOf(hostOf(rank)).viewOfLocal[static_cast<std::size_t>(localOf(rank))];
  }
  const RankView& view(int rank) const { return views[static_cast<std::size_t>(viewOf(rank))]; }
  const HostShape& shapeOf(int host) const {
    return shapes[static_cast<std::size_t>(shapeOfHost[static_cast<std::size_t>(host)])];
  }

  int rank(int host, int local) const {
    return rankOfSlot_[static_cast<std::size_t>(firstSlot_[static_cast<std::size_t>(host)] + local)];
  }
  // The rank of a GPU of `view`, on `host`.
  int rankOfGpu(int host, const RankView& view, int gpu) const {
    return this->rank(host, view.system->gpu(view.system->node(topology::NodeType::kGpu, gpu)).rank);
  }
  // The rank at a position of a channel of one of the view's graphs, on `host`.
  int rankAt(int host, const RankView& view, const search::ChannelGraph& graph, int channel,
             int position) const {
    return rankOfGpu(host, view, graph.gpu(channel, position));
  }
  // The rank's GPU in the system of its own view.
  topology::NodeId gpuOf(int rank) const { return view(rank).system->gpuOfRank(localOf(rank)); }
  // The GPU of `other` in the system of `rank`'s view, or kNoNode if that system does not contain it.
  topology::NodeId gpuSeenBy(int rank, int other) const {
    return hostOf(rank) == hostOf(other) ? view(rank).system->gpuOfRank(localOf(other)) : topology::kNoNode;
  }

  topology::RankNames rankNames(int host) const;

  // Gives every rank its host. Throws Error unless `hostOfRank` contains each host as often as its shape has
  // ranks.
  void place(const std::vector<int>& hostOfRank);
  // Fills one host after the other.
  void placeInBlocks();
  // Gives each host in turn one rank, until it is full.
  void placeRoundRobin();

 private:
  struct Place {
    int host = 0;
    int local = 0;
  };
  std::vector<int> ranksOfHosts() const;

  std::vector<Place> places_;    // by rank
  std::vector<int> firstSlot_;   // by host
  std::vector<int> rankOfSlot_;  // host after host; a host's ranks in ascending order
};

// By rank: its host, if the ranks fill one host after the other, or each host in turn gets one rank until it is full.
// `ranksOfHosts`: how many ranks each host has.
std::vector<int> hostsInBlocks(std::span<const int> ranksOfHosts);
std::vector<int> hostsInTurn(std::span<const int> ranksOfHosts);

// The nodes of a job as NCCL counts them: the ranks of a node share a ring inside it. Usually a node is a
// host; a host whose GPUs have no better way to each other than the network is several nodes.
struct JobNodes {
  std::vector<int> ofRank;     // by rank: its node
  std::vector<int> localRank;  // by rank: its place among the node's ranks
  std::vector<int> firstRank;  // by node
  int maxLocalRanks = 0;
  int minLocalRanks = 0;

  int count() const { return static_cast<int>(firstRank.size()); }
  std::span<const int> ranks(int node) const {
    const auto begin = static_cast<std::size_t>(begin_[static_cast<std::size_t>(node)]);
    const auto end = static_cast<std::size_t>(begin_[static_cast<std::size_t>(node) + 1]);
    return std::span(ranks_).subspan(begin, end - begin);
  }

 private:
  friend JobNodes numberNodes(const Job& job);
  std::vector<int> ranks_;  // node after node, ascending in each
  std::vector<int> begin_;  // by node, and the end
};

// Ranks whose first channel starts at the same rank form a node. Nodes are numbered by their first rank.
JobNodes numberNodes(const Job& job);

}  // namespace xylem::connect
