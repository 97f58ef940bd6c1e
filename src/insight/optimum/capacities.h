#pragma once
// A host's links as constraints: the capacity of each, and what a channel takes of it on each possible hop.
//
//   const Capacities capacities(space, {PathType::kSys, PathType::kSys}, /*bothWays=*/false);
//   for (const Use& use : capacities.gpuToGpu(a, b).uses) ... use.row, use.units ...
//
// A row is a link, or a port that several NETs share. A unit is 1/80 of a channel's bandwidth.

#include <cstdint>
#include <span>
#include <vector>

#include "planner/search/search_space.h"

namespace xylem::optimum {

// Amounts are sums and differences of whole units, or quotients of bandwidths. They count as equal if they
// differ by less than this.
constexpr double kSlack = 1e-6;

// Converts a number that is not negative to an index of a container.
constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }

constexpr int kWholeUnits = 80;

struct Use {
  int row = 0;
  int units = 0;
};

// The farthest path types that channels may use between GPUs, and between GPUs and NETs.
struct Reachable {
  paths::PathType intra = paths::PathType::kSys;
  paths::PathType inter = paths::PathType::kSys;
};

class Capacities {
 public:
  // `bothWays`: the path back must be as near, too, as trees need it.
  Capacities(const search::SearchSpace& space, const Reachable& reachable, bool bothWays);

  int gpus() const { return gpus_; }
  int nets() const { return nets_; }
  int rows() const { return static_cast<int>(capacity_.size()); }
  const Reachable& reachable() const { return reachable_; }
  const search::SearchSpace& space() const { return space_; }

  // In GB/s.
  double capacity(int row) const { return capacity_[static_cast<std::size_t>(row)]; }
  // Returns kNoLink for a port.
  topology::LinkId link(int row) const { return link_[static_cast<std::size_t>(row)]; }
  // The greatest common divisor of the units that hops take of this row.
  int measure(int row) const { return measure_[static_cast<std::size_t>(row)]; }

  // The units that a channel takes on a hop. The hop is open if its path is near enough.
  struct Hop {
    bool open = false;
    std::vector<Use> uses;
  };
  const Hop& gpuToGpu(int a, int b) const { return hops_[at(a, gpus_, b)]; }
  // Includes what a channel takes of the NET's port by starting there.
  const Hop& netToGpu(int net, int gpu) const { return fromNet_[at(net, gpus_, gpu)]; }
  const Hop& gpuToNet(int gpu, int net) const { return toNet_[at(gpu, nets_, net)]; }
  bool samePort(int a, int b) const { return space_.samePort(a, b); }

 private:
  static std::size_t at(int a, int width, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(width) + static_cast<std::size_t>(b);
  }
  Hop hopOf(const search::Route& route, paths::PathType limit, bool bothWays);
  int rowOf(topology::LinkId link);
  void addPorts();

  const search::SearchSpace& space_;
  Reachable reachable_;
  int gpus_, nets_;
  std::vector<double> capacity_;
  std::vector<topology::LinkId> link_;
  std::vector<int> measure_;
  std::vector<int> rowOfLink_;
  std::vector<Hop> hops_, fromNet_, toNet_;
};

}  // namespace xylem::optimum
