#pragma once
// What the searches of one host run on: its graph and paths turned into flat tables, and the bandwidth still
// free.
//
//   SearchSpace space(system, paths, locality);
//   const Load load = space.load(12.0f);
//   if (space.take(space.gpuToGpu(a, b), load)) { ...; space.giveBack(space.gpuToGpu(a, b), load); }
//
// All searches of a host share one space: taking and giving back rounds bandwidths to three decimals the
// first time a link is touched, and those roundings carry over from one search to the next.

#include <cstdint>
#include <span>
#include <vector>

#include "planner/search/free_bandwidth.h"
#include "planner/paths/locality.h"
#include "planner/paths/path_table.h"
#include "planner/topology/system.h"

namespace xylem {

// A path as the search walks it.
struct Route {
  std::int32_t firstStep = 0;
  std::int16_t steps = 0;  // links it takes bandwidth of, in walking order
  std::int16_t hops = 0;   // links it walks
  PathType type = PathType::kDis;
  PathType reverseType = PathType::kDis;  // of the path the other way
  bool repeats = false;                   // some link is taken from more than once
  bool intra = false;                     // both ends are GPUs or NVSwitches
  float bandwidth = 0;                    // GB/s, before any search
  std::int32_t id = 0;                    // among all routes of the space
};

class SearchSpace {
 public:
  SearchSpace(const System& system, const PathTable& paths, const Locality& locality);

  int gpuCount() const { return gpuCount_; }
  int netCount() const { return netCount_; }
  bool hasNvs() const { return nvs_ != kNoNode; }
  const System& system() const { return system_; }
  const PathTable& paths() const { return paths_; }

  // All by index among the nodes of their type.
  const Route& gpuToGpu(int a, int b) const { return routes_[at(a, gpuCount_, b)]; }
  const Route& gpuToNet(int gpu, int net) const { return routes_[gpuToNet_ + at(gpu, netCount_, net)]; }
  const Route& netToGpu(int net, int gpu) const { return routes_[netToGpu_ + at(net, gpuCount_, gpu)]; }
  const Route& nvsToGpu(int gpu) const { return routes_[nvsToGpu_ + static_cast<std::size_t>(gpu)]; }
  const Route& gpuToNvs(int gpu) const { return routes_[gpuToNvs_ + static_cast<std::size_t>(gpu)]; }

  std::size_t routeCount() const { return routes_.size(); }
  const Route& route(std::size_t id) const { return routes_[id]; }
  std::span<const RouteStep> stepsOf(const Route& route) const {
    return {steps_.data() + route.firstStep, static_cast<std::size_t>(route.steps)};
  }

  // What `bandwidth` (GB/s) per channel asks of the links of routes inside the host, and to and from NETs.
  Load intraLoad(float bandwidth) const { return Load(bandwidth, intraShares_); }
  Load interLoad(float bandwidth) const { return Load(bandwidth, interShares_); }
  // Takes it from every link of the route; false, and nothing taken, if one has not enough.
  bool take(const Route& route, const Load& load) {
    return route.repeats ? free_.takeInOrder(stepsOf(route), load) : free_.take(stepsOf(route), load);
  }
  void giveBack(const Route& route, const Load& load) { free_.giveBack(stepsOf(route), load); }
  // The two without rounding, for exact loads, links of whole thousandths and routes that repeat no link.
  // They leave freeHash() as it was before taking.
  bool takeExact(const Route& route, const Load& load) { return free_.takeExact(stepsOf(route), load); }
  void giveBackExact(const Route& route, const Load& load) { free_.giveBackExact(stepsOf(route), load); }
  bool hasFree(const Route& route, const Load& load) const { return free_.has(stepsOf(route), load); }
  const FreeBandwidth& free() const { return free_; }
  FreeBandwidth& free() { return free_; }

  // The free bandwidth of a NET's port, shared by all NETs on it.
  float netBandwidth(int net) const { return netBandwidth_[static_cast<std::size_t>(net)]; }
  void takeNetBandwidth(int net, float amount);
  // All NETs have the same latency.
  bool uniformLatency() const { return uniformLatency_; }
  bool samePort(int a, int b) const {
    return port_[static_cast<std::size_t>(a)] == port_[static_cast<std::size_t>(b)];
  }

  // A hash of all bandwidth that is free now, apart from what was taken exactly: equal states of the search
  // have equal hashes. Kept up to date by every change, so asking costs nothing.
  std::uint64_t freeHash() const { return free_.hash() + netHash_; }

  // A GPU's weight in hashes of sets of GPUs.
  std::uint64_t gpuWeight(int gpu) const { return gpuWeight_[static_cast<std::size_t>(gpu)]; }

  // A GPU's first PCI link and the way back, or kNoLink.
  std::pair<LinkId, LinkId> pciLinks(int gpu) const { return gpuPci_[static_cast<std::size_t>(gpu)]; }
  // What a GPU's PCI link has free in its narrower direction, in whole GB/s; -1 without a PCI link.
  int freePciBandwidth(int gpu) const;
  // How a GPU ranks by the way from a NET, smaller is better: bandwidth (whole GB/s), free PCI bandwidth,
  // hops.
  std::uint64_t netKey(int net, int gpu) const {
    return netKey_[at(net, gpuCount_, gpu)] - (static_cast<std::uint64_t>(freePciBandwidth(gpu) + 1) << 16);
  }

  // The NETs to try for a GPU (or for all, -1), nearest first, none farther than `type`.
  std::span<const int> netsWithin(int gpu, PathType type) const;
  // The GPUs nearest to a NET by bandwidth, then by hops, in index order; and that bandwidth.
  std::span<const int> gpusNearest(int net) const { return nearestGpus_[static_cast<std::size_t>(net)]; }
  float nearestBandwidth(int net) const { return nearestBandwidth_[static_cast<std::size_t>(net)]; }
  // The GPUs other than `gpu` that it has a path to, best first: bandwidth (whole GB/s), hops, index
  // distance.
  std::span<const int> gpusByPath(int gpu) const { return gpusByPath_[static_cast<std::size_t>(gpu)]; }
  // Whether all of those are equally good, distance aside; and of each its bandwidth and hops in one number.
  bool alikeFrom(int gpu) const { return alikeFrom_[static_cast<std::size_t>(gpu)] != 0; }
  std::uint32_t pathKey(int a, int b) const { return pathKey_[at(a, gpuCount_, b)]; }
  // The GPU whose NIC this is, or -1.
  int localGpu(int net) const { return localGpu_[static_cast<std::size_t>(net)]; }

 private:
  static std::size_t at(int a, int width, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(width) + static_cast<std::size_t>(b);
  }
  void addRoute(NodeId from, NodeId to);
  void addSteps(const Link& link, LinkId id, bool fromGpu, bool widePci);
  void rankGpus();
  void rankNets();

  const System& system_;
  const PathTable& paths_;
  const Locality& locality_;
  int gpuCount_, netCount_;
  FreeBandwidth free_;  // by link
  NodeId nvs_ = kNoNode;
  std::vector<Route> routes_;  // GPU x GPU, GPU x NET, NET x GPU, NVS x GPU, GPU x NVS
  std::size_t gpuToNet_ = 0, netToGpu_ = 0, nvsToGpu_ = 0, gpuToNvs_ = 0;
  std::vector<RouteStep> steps_;
  std::vector<std::uint64_t> gpuWeight_;
  unsigned intraShares_ = 0, interShares_ = 0;  // that any route asks for
  bool uniformLatency_ = true;
  std::uint64_t netHash_ = 0;  // of the NETs' free bandwidth
  std::vector<float> netBandwidth_;
  std::vector<std::uint64_t> netWeight_;
  std::vector<int> port_;                          // by NET: the lowest NET on the same port
  std::vector<std::vector<int>> portNets_;         // by that NET: all on the port
  std::vector<std::pair<LinkId, LinkId>> gpuPci_;  // by GPU: its first PCI link and the way back
  std::vector<std::vector<int>> gpusByPath_;
  std::vector<std::uint32_t> pathKey_;
  std::vector<std::uint8_t> alikeFrom_;
  // By NET and GPU: bandwidth from bit 32 on, free PCI bandwidth (the most there is) from bit 16 on, hops.
  std::vector<std::uint64_t> netKey_;
  std::vector<std::vector<int>> nearestGpus_;
  std::vector<float> nearestBandwidth_;
  std::vector<int> localGpu_;
  // By (GPU or all) and type, made when first asked for.
  mutable std::vector<std::vector<int>> netsWithin_;
  mutable std::vector<std::uint8_t> netsWithinMade_;
};

}  // namespace xylem
