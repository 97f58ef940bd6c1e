#pragma once
// The host as its searches see it: graph and paths turned into flat tables of routes, and the bandwidth that
// is still free.
//
//   SearchSpace space(system, paths, locality);
//   const Load load = space.intraLoad(12.0f);                  // GB/s per channel
//   if (space.take(space.gpuToGpu(a, b), load)) { ...; space.giveBack(space.gpuToGpu(a, b), load); }
//
// All searches of a host share one space: taking and giving back rounds bandwidths to three decimals the
// first time a link is touched, and those roundings carry over from one search to the next.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/paths/locality.h"
#include "planner/paths/path_table.h"
#include "planner/search/channel_graph.h"
#include "planner/search/free_bandwidth.h"
#include "planner/topology/system.h"

namespace xylem::search {

// A path as the search follows it.
struct Route {
  std::int32_t firstStep = 0;
  std::int16_t steps = 0;  // links it takes bandwidth of, in walking order
  std::int16_t hops = 0;   // links it walks
  paths::PathType type = paths::PathType::kDis;
  paths::PathType reverseType = paths::PathType::kDis;  // of the path the other way
  bool repeats = false;                                 // some link is taken from more than once
  bool intra = false;                                   // both ends are GPUs or NVSwitches
  float bandwidth = 0;                                  // GB/s, before any search
  std::int32_t id = 0;                                  // among all routes of the space
};

class SearchSpace {
 public:
  SearchSpace(const topology::System& system, const paths::PathTable& paths, const paths::Locality& locality);

  int gpuCount() const { return gpuCount_; }
  // Returns whether channels start and end at NETs; if not, the host's NETs do not count here.
  bool inter() const { return system_.usesNets(); }
  int netCount() const { return netCount_; }
  bool hasNvs() const { return nvs_ != topology::kNoNode; }
  const topology::System& system() const { return system_; }
  const paths::PathTable& paths() const { return paths_; }

  // Routes, by index among the nodes of their type.
  const Route& gpuToGpu(int a, int b) const { return routes_[at(a, gpuCount_, b)]; }
  const Route& gpuToNet(int gpu, int net) const { return routes_[gpuToNet_ + at(gpu, netCount_, net)]; }
  const Route& netToGpu(int net, int gpu) const { return routes_[netToGpu_ + at(net, gpuCount_, gpu)]; }
  const Route& nvsToGpu(int gpu) const { return routes_[nvsToGpu_ + static_cast<std::size_t>(gpu)]; }
  const Route& gpuToNvs(int gpu) const { return routes_[gpuToNvs_ + static_cast<std::size_t>(gpu)]; }

  std::span<const Route> routes() const { return routes_; }
  std::span<const RouteStep> stepsOf(const Route& route) const {
    return {steps_.data() + route.firstStep, static_cast<std::size_t>(route.steps)};
  }

  // The load of a channel of `bandwidth` (GB/s) on routes inside the host, and on routes to and from NETs.
  Load intraLoad(float bandwidth) const { return Load(bandwidth, intraShares_); }
  Load interLoad(float bandwidth) const { return Load(bandwidth, interShares_); }
  // Takes the load from every link of the route. Returns false, and takes nothing, if a link has not enough.
  bool take(const Route& route, const Load& load) {
    return route.repeats ? free_.takeInOrder(stepsOf(route), load) : free_.take(stepsOf(route), load);
  }
  void takeFree(const Route& route, const Load& load) { free_.takeFree(stepsOf(route), load); }
  void giveBack(const Route& route, const Load& load) { free_.giveBack(stepsOf(route), load); }
  bool hasFree(const Route& route, const Load& load) const { return free_.has(stepsOf(route), load); }
  const FreeBandwidth& free() const { return free_; }

  // The free bandwidth of a NET's port, shared by all NETs on it; GB/s.
  float netBandwidth(int net) const { return netBandwidth_[static_cast<std::size_t>(net)]; }
  void takeNetBandwidth(int net, float amount);
  // True if all NETs have the same latency.
  bool uniformLatency() const { return uniformLatency_; }
  bool samePort(int a, int b) const {
    return port_[static_cast<std::size_t>(a)] == port_[static_cast<std::size_t>(b)];
  }

  // By the rails and planes of the network, where the rules know them and the description names them for both; else by the
  // ports, of NICs of several hosts perhaps by the cards' slots.
  bool sameRail(int a, int b) const;
  bool otherPlane(int a, int b) const {
    return system_.rules().rails && netOf(a).plane >= 0 && netOf(b).plane >= 0 &&
           netOf(a).plane != netOf(b).plane;
  }

  // Hashes of the free bandwidth of all NETs, and of all links and NETs.
  std::uint64_t netsHash() const;
  std::uint64_t freeHash() const;

  // A GPU's first PCI link and the link back, or kNoLink.
  std::pair<topology::LinkId, topology::LinkId> pciLinks(int gpu) const {
    return gpuPci_[static_cast<std::size_t>(gpu)];
  }
  // The free bandwidth of a GPU's PCI link in its narrower direction, in whole GB/s; -1 without a PCI link.
  int freePciBandwidth(int gpu) const;
  // A GPU's rank by the way from a NET, smaller is better: bandwidth (whole GB/s), free PCI bandwidth, hops.
  std::uint64_t netKey(int net, int gpu) const {
    return netKey_[at(net, gpuCount_, gpu)] - (static_cast<std::uint64_t>(freePciBandwidth(gpu) + 1) << 16);
  }

  // The NETs to try for a GPU (or for all, -1), nearest first, none farther than `type`.
  std::span<const int> netsWithin(int gpu, paths::PathType type) const;
  // The GPUs at which a channel from a NET starts, in the order of trying; and the bandwidth of the nearest one.
  std::span<const int> gpusNearest(int net) const { return nearestGpus_[static_cast<std::size_t>(net)]; }
  float nearestBandwidth(int net) const { return nearestBandwidth_[static_cast<std::size_t>(net)]; }
  // The GPUs other than `gpu` that it has a path to, best first: bandwidth (whole GB/s), hops, index
  // distance.
  std::span<const int> gpusByPath(int gpu) const { return gpusByPath_[static_cast<std::size_t>(gpu)]; }
  // Bandwidth and hops of the path in one number: smaller is better.
  std::uint32_t pathKey(int a, int b) const { return pathKey_[at(a, gpuCount_, b)]; }
  // True if all paths from this GPU have the same pathKey().
  bool alikeFrom(int gpu) const { return alikeFrom_[static_cast<std::size_t>(gpu)] != 0; }
  // The GPU whose NIC this is, or -1.
  int localGpu(int net) const { return localGpu_[static_cast<std::size_t>(net)]; }

 private:
  const topology::Net& netOf(int net) const {
    return system_.net(system_.node(topology::NodeType::kNet, net));
  }
  static std::size_t at(int a, int width, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(width) + static_cast<std::size_t>(b);
  }
  void addRoute(topology::NodeId from, topology::NodeId to);
  void addSteps(const topology::Link& link, topology::LinkId id, bool fromGpu, bool widePci);
  int hopsOf(const paths::Path& path, topology::NodeId from, topology::NodeId to) const;
  void rankGpus();
  void rankNets();
  std::vector<int> startsFrom(int net) const;
  void listLocalNets(int first, int last, const std::function<void(topology::NodeId)>& append) const;

  const topology::System& system_;
  const paths::PathTable& paths_;
  const paths::Locality& locality_;
  int gpuCount_, netCount_;
  FreeBandwidth free_;  // by link
  topology::NodeId nvs_ = topology::kNoNode;
  std::vector<Route> routes_;  // GPU x GPU, GPU x NET, NET x GPU, NVS x GPU, GPU x NVS
  std::size_t gpuToNet_ = 0, netToGpu_ = 0, nvsToGpu_ = 0, gpuToNvs_ = 0;  // where each kind begins
  std::vector<RouteStep> steps_;                                           // of all routes
  unsigned intraShares_ = 0, interShares_ = 0;  // that occur on any route: a bit each
  bool uniformLatency_ = true;
  std::vector<float> netBandwidth_;
  std::vector<int> port_;                   // by NET: the lowest NET on the same port
  std::vector<std::vector<int>> portNets_;  // by that NET: all on the port
  std::vector<std::pair<topology::LinkId, topology::LinkId>>
      gpuPci_;  // by GPU: its first PCI link and the link back
  std::vector<std::vector<int>> gpusByPath_;
  std::vector<std::uint32_t> pathKey_;
  std::vector<std::uint8_t> alikeFrom_;
  // By NET and GPU: bandwidth from bit 32 on, the largest PCI bandwidth from bit 16 on, hops below.
  std::vector<std::uint64_t> netKey_;
  std::vector<std::vector<int>> nearestGpus_;
  std::vector<float> nearestBandwidth_;
  std::vector<int> localGpu_;
  // By GPU (or all) and type, made when first asked for.
  mutable std::vector<std::vector<int>> netsWithin_;
  mutable std::vector<std::uint8_t> netsWithinMade_;
};

// The part of a channel's bandwidth that a route carries.
enum class Portion : std::uint8_t {
  kIntra,       // all of it, inside the host
  kIntraTwice,  // an NVLS head: for itself and for the NET
  kIntraPart,   // CollNet direct: one of as many parts as there are other GPUs
  kInter,       // all of it, to or from a NET
  kInterHalf,   // a balanced tree leaves from two GPUs
};
constexpr std::size_t kPortions = 5;

// The loads of a graph's channels on the routes they use, by portion. Portions that its pattern does not have
// are empty.
class ChannelLoads {
 public:
  ChannelLoads(const SearchSpace& space, const ChannelGraph& graph);
  const Load& of(Portion portion) const { return loads_[static_cast<std::size_t>(portion)]; }

 private:
  std::array<Load, kPortions> loads_;
};

}  // namespace xylem::search
