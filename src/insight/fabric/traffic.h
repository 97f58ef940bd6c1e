#pragma once
// The data that an AllReduce of a job sends over the network: flows from NIC to NIC, over the rings or the
// trees that the planner lays.
//
//   Traffic traffic = trafficOf(plan.connections, plan.reach);
//   for (const Flow& flow : traffic.flows[kRingTraffic])
//     ... flow.bytes from NIC flow.fromNic of host flow.from to NIC flow.toNic of host flow.to ...
//
// Hosts are numbered by their place in the order of ranks. Bytes are per byte of the AllReduce.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/connect/connections.h"
#include "planner/paths/reach.h"

namespace xylem::fabric {

// Depending on its size an AllReduce runs over all rings or over all trees.
constexpr int kRingTraffic = 0;
constexpr int kTreeTraffic = 1;
constexpr int kTrafficKinds = 2;
const char* trafficName(int kind);  // `Ring`, `Tree`

template <typename T>
using ByTraffic = std::array<T, kTrafficKinds>;

// A NET of one view, that is, of hosts of one shape.
struct TrafficNic {
  int view = 0;
  int index = 0;  // among the NETs of the view's system
  std::string name;
  int dev = 0;
  double bandwidth = 0;  // GB/s, of the host's topology file
  // GB/s that the plan's channels use in each direction; 0 if no channel starts or ends here.
  ByTraffic<double> planned = {};
};

struct Flow {
  int from = 0, fromNic = 0;  // host, and index into Traffic::nics
  int to = 0, toNic = 0;
  double bytes = 0;
  std::uint64_t channels = 0;  // those that carry them: a bit each

  bool operator==(const Flow&) const = default;
};

struct Traffic {
  std::vector<TrafficNic> nics;
  ByTraffic<std::vector<Flow>> flows;  // one flow per pair of ends
};

// Throws Error if a ring or a tree has to leave a host that reaches no NIC.
Traffic trafficOf(const connect::Connections& connections, const paths::ReachOptions& reach);

}  // namespace xylem::fabric
