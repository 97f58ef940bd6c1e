#include "insight/optimum/capacities.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace xylem::optimum {
namespace {

int unitsOf(search::Share share) {
  constexpr int kPerUnit = kWholeUnits / 40;
  return kPerUnit * static_cast<int>(search::kShareUnits[static_cast<std::size_t>(share)]);
}

// The search rounds free bandwidth to thousandths of a GB/s, up or down; a bound has to allow for both.
double searchable(float bandwidth) {
  return std::max(static_cast<double>(bandwidth),
                  static_cast<double>(std::round(bandwidth * 1000.0f)) / 1000.0);
}

}  // namespace

Capacities::Capacities(const search::SearchSpace& space, const Reachable& reachable, bool bothWays)
    : space_(space),
      reachable_(reachable),
      gpus_(space.gpuCount()),
      nets_(space.netCount()),
      rowOfLink_(space.system().links().size(), -1) {
  for (int a = 0; a < gpus_; ++a)
    for (int b = 0; b < gpus_; ++b)
      hops_.push_back(a == b ? Hop{} : hopOf(space.gpuToGpu(a, b), reachable.intra, bothWays));
  for (int net = 0; net < nets_; ++net)
    for (int gpu = 0; gpu < gpus_; ++gpu)
      fromNet_.push_back(hopOf(space.netToGpu(net, gpu), reachable.inter, bothWays));
  for (int gpu = 0; gpu < gpus_; ++gpu)
    for (int net = 0; net < nets_; ++net)
      toNet_.push_back(hopOf(space.gpuToNet(gpu, net), reachable.inter, bothWays));
  addPorts();
}

Capacities::Hop Capacities::hopOf(const search::Route& route, paths::PathType limit, bool bothWays) {
  if (route.hops == 0 || route.type > limit || (bothWays && route.reverseType > limit)) return {};
  Hop hop{true, {}};
  for (const search::RouteStep& step : space_.stepsOf(route)) {
    const int row = rowOf(step.link);
    const int units = unitsOf(step.share);
    int& measure = measure_[static_cast<std::size_t>(row)];
    // On the way to a NET, balanced trees take half of it.
    measure = std::gcd(measure, route.intra ? units : units / 2);
    const auto known =
        std::find_if(hop.uses.begin(), hop.uses.end(), [&](const Use& use) { return use.row == row; });
    if (known == hop.uses.end())
      hop.uses.push_back({row, units});
    else
      known->units += units;
  }
  return hop;
}

int Capacities::rowOf(topology::LinkId link) {
  int& row = rowOfLink_[static_cast<std::size_t>(link)];
  if (row >= 0) return row;
  row = rows();
  capacity_.push_back(searchable(space_.system().link(link).bandwidth));
  link_.push_back(link);
  measure_.push_back(0);
  return row;
}

// NETs on one port share its bandwidth, and channels that start at any of them take it.
void Capacities::addPorts() {
  for (int net = 0; net < nets_; ++net) {
    int first = 0;
    while (!samePort(first, net)) ++first;
    if (first != net) continue;
    std::vector<int> together;
    for (int other = net; other < nets_; ++other)
      if (samePort(net, other)) together.push_back(other);
    if (together.size() < 2) continue;  // the NET's own link is limit enough
    const int row = rows();
    capacity_.push_back(searchable(space_.netBandwidth(net)));
    link_.push_back(topology::kNoLink);
    measure_.push_back(kWholeUnits);
    for (const int other : together)
      for (int gpu = 0; gpu < gpus_; ++gpu)
        if (Hop& hop = fromNet_[at(other, gpus_, gpu)]; hop.open) hop.uses.push_back({row, kWholeUnits});
  }
}

}  // namespace xylem::optimum
