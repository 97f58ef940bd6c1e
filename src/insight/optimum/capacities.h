#pragma once
// A host's links as constraints: what each has, and what a channel takes of it on every hop that it may make.
//
//   const Capacities capacities(space, {PathType::kSys, PathType::kSys}, Pattern::kRing);
//   for (const Use& use : capacities.gpuToGpu(a, b)) ... use.row, use.units ...
//
// A row is a link, or the port that several NETs share. Units are 80ths of a channel's bandwidth.

#include <cstdint>
#include <span>
#include <vector>

#include "planner/search/search_space.h"

namespace xylem {

// Rooms are sums and differences of whole units, or bandwidths divided by each other: what differs by less is
// equal.
constexpr double kSlack = 1e-6;

// A number that is not negative, as what containers are asked with.
constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }

constexpr int kWholeUnits = 80;

struct Use {
  int row = 0;
  int units = 0;
};

// How far apart GPUs, and GPUs and NETs, may be.
struct Reachable {
  PathType intra = PathType::kSys;
  PathType inter = PathType::kSys;
};

class Capacities {
 public:
  // `bothWays`: the way back must be as near, as for trees.
  Capacities(const SearchSpace& space, const Reachable& reachable, bool bothWays);

  int gpus() const { return gpus_; }
  int nets() const { return nets_; }
  int rows() const { return static_cast<int>(capacity_.size()); }
  const Reachable& reachable() const { return reachable_; }
  const SearchSpace& space() const { return space_; }

  // GB/s.
  double capacity(int row) const { return capacity_[static_cast<std::size_t>(row)]; }
  // kNoLink for a port.
  LinkId link(int row) const { return link_[static_cast<std::size_t>(row)]; }
  // The common measure of all units taken of it.
  int measure(int row) const { return measure_[static_cast<std::size_t>(row)]; }

  // A hop that may be made.
  struct Hop {
    bool open = false;
    std::vector<Use> uses;
  };
  const Hop& gpuToGpu(int a, int b) const { return hops_[at(a, gpus_, b)]; }
  // With what the start takes of the NET's port.
  const Hop& netToGpu(int net, int gpu) const { return fromNet_[at(net, gpus_, gpu)]; }
  const Hop& gpuToNet(int gpu, int net) const { return toNet_[at(gpu, nets_, net)]; }
  bool samePort(int a, int b) const { return space_.samePort(a, b); }

 private:
  static std::size_t at(int a, int width, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(width) + static_cast<std::size_t>(b);
  }
  Hop hopOf(const Route& route, PathType limit, bool bothWays);
  int rowOf(LinkId link);
  void addPorts();

  const SearchSpace& space_;
  Reachable reachable_;
  int gpus_, nets_;
  std::vector<double> capacity_;
  std::vector<LinkId> link_;
  std::vector<int> measure_;
  std::vector<int> rowOfLink_;
  std::vector<Hop> hops_, fromNet_, toNet_;
};

}  // namespace xylem
