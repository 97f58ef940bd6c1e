#pragma once
// How an order of hosts does on a fabric: the busiest links, and how much longer an AllReduce of many bytes
// takes than where only the hosts and their NICs limit it.
//
//   const QuietTimes quiet = quietTimes(traffic, sites, order);
//   const Score score = scoreOf(congestion, network, quiet);
//   score[kRingTraffic].slowdown          ->   3.0: three times as long

#include <vector>

#include "insight/fabric/congestion.h"

namespace xylem {

// Loads and times that differ by less, in parts of them, are the same.
constexpr double kSameScore = 1e-9;

// Seconds per GB of the AllReduce over rings and over trees if the fabric had room for everything: what the
// busiest NIC takes, at the least of what its ports, the host and the plan's channels give it.
using QuietTimes = ByTraffic<double>;
QuietTimes quietTimes(const Traffic& traffic, const Sites& sites, const std::vector<int>& order);

struct TrafficScore {
  double quiet = 0;  // s per GB
  double time = 0;   // s per GB, with the fabric: never less than `quiet`
  double slowdown = 1;
  int worst = -1;  // the link between switches that takes longest; the first of equals; -1: there are none
  // Between switches: bytes per byte of the AllReduce and cable, over all directions of all cables.
  double most = 0, ninetieth = 0, median = 0;
  double all = 0;            // on all of them together
  std::int64_t slowing = 0;  // cables and directions that take longer than `quiet`
  std::int64_t cables = 0;   // cables and directions in all
};
using Score = ByTraffic<TrafficScore>;

Score scoreOf(const Congestion& congestion, const FabricGraph& network, const QuietTimes& quiet);

// Links between switches, those that take longest first.
std::vector<int> busiestLinks(const Congestion& congestion, const FabricGraph& network, int kind);

// Who is on a link: bytes of its flow that cross it.
struct Crossing {
  int from = 0, to = 0;  // places in the order
  double bytes = 0;
};
// Of all links asked for, those with the most bytes first.
std::vector<std::vector<Crossing>> crossings(const Traffic& traffic, int kind, const std::vector<int>& order,
                                             const Sites& sites, FabricGraph& network,
                                             const std::vector<int>& links);

}  // namespace xylem
