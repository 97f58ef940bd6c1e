#pragma once
// What an AllReduce of a job sends over the network: the flows from NIC to NIC that its rings and its trees
// make, as the planner lays them.
//
//   Traffic traffic = trafficOf(plan.connections, plan.reach);
//   for (const Flow& s : traffic.flows[kRingTraffic])
//     ... s.bytes from NIC s.fromNic of host s.from to NIC s.toNic of host s.to ...
//
// Hosts are those of the job, by their place in the order of ranks. Bytes are per byte of the operation.

#include <array>
#include <string>
#include <vector>

#include "planner/connect/connections.h"
#include "planner/paths/reach.h"

namespace xylem {

// AllReduce runs over all rings or over all trees, by its size.
constexpr int kRingTraffic = 0;
constexpr int kTreeTraffic = 1;
constexpr int kTrafficKinds = 2;
const char* trafficName(int kind);  // `Ring`, `Tree`

template <typename T>
using ByTraffic = std::array<T, kTrafficKinds>;

// A NET of a kind of host.
struct TrafficNic {
  int view = 0;
  int index = 0;  // among the NETs of the view's system
  std::string name;
  int dev = 0;
  double bandwidth = 0;  // GB/s, by the host's description
  // GB/s that the channels of the plan count on, in each direction.
  ByTraffic<double> planned = {};
};

struct Flow {
  int from = 0, fromNic = 0;  // host, and index into Traffic::nics
  int to = 0, toNic = 0;
  double bytes = 0;

  bool operator==(const Flow&) const = default;
};

struct Traffic {
  std::vector<TrafficNic> nics;
  ByTraffic<std::vector<Flow>> flows;  // each pair of ends once
};

// Throws Error if a ring or a tree has to leave a host that reaches no NIC.
Traffic trafficOf(const Connections& connections, const ReachOptions& reach);

}  // namespace xylem
