#pragma once
// A job: ranks over hosts, and the channel graphs each of them found on its host.
//
//   job.shapeOfHost = {0, 0, 1};      // two hosts of shape 0, then one of shape 1
//   job.placeInBlocks();
//   const RankView& view = job.view(rank);
//   int first = job.rankAt(job.hostOf(rank), view, (*view.graphs)[GraphKind::kRing], channel, 0);
//
// Hosts that are alike share a *shape*. Ranks of one host that reach each other only over the network form
// *domains*, and each plans for its own: a *view* is what the ranks of one domain of one shape decided about
// their host. Graphs number the GPUs of a host by themselves; `rank` of a view's GPUs is the place among the
// host's ranks in ascending order.

#include <vector>

#include "planner/search/channel_graph.h"
#include "planner/paths/path_table.h"
#include "planner/topology/rank_names.h"
#include "planner/topology/system.h"

namespace xylem {

struct RankView {
  const System* system = nullptr;
  const PathTable* paths = nullptr;
  const HostGraphs* graphs = nullptr;
};

// A kind of host.
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
  // Its place among the ranks of its host.
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
  // The rank of a GPU of `rank`'s view, on `rank`'s host.
  int rankOfGpu(int host, const RankView& view, int gpu) const {
    return this->rank(host, view.system->gpu(view.system->node(NodeType::kGpu, gpu)).rank);
  }
  // The rank at a position of a channel of a graph of `view`, on `host`.
  int rankAt(int host, const RankView& view, const ChannelGraph& graph, int channel, int position) const {
    return rankOfGpu(host, view, graph.gpu(channel, position));
  }
  // The node of a rank in its own view's graph; of another rank, or kNoNode if that view does not hold it.
  NodeId gpuOf(int rank) const { return view(rank).system->gpuOfRank(localOf(rank)); }
  NodeId gpuSeenBy(int rank, int other) const {
    return hostOf(rank) == hostOf(other) ? view(rank).system->gpuOfRank(localOf(other)) : kNoNode;
  }

  RankNames rankNames(int host) const;

  // Gives every rank its host: `hostOfRank` holds each host as often as its shape has ranks. Throws Error.
  void place(const std::vector<int>& hostOfRank);
  // Host after host.
  void placeInBlocks();
  // One rank per host in turn, as long as it has room.
  void placeRoundRobin();

 private:
  struct Place {
    int host = 0;
    int local = 0;
  };
  std::vector<Place> places_;    // by rank
  std::vector<int> firstSlot_;   // by host
  std::vector<int> rankOfSlot_;  // a host's ranks one after the other, ascending
};

}  // namespace xylem
