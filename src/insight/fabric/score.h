#pragma once
// Scores an order of hosts on a fabric: the busiest links, and how much longer a large AllReduce takes than
// if only the hosts and their NICs limited it.
//
//   const QuietTimes quiet = quietTimes(traffic, attachments, order);
//   const Score score = scoreOf(congestion, network, quiet);
//   score[kRingTraffic].slowdown          ->   3.0: three times as long

#include <set>
#include <vector>

#include "insight/fabric/congestion.h"

namespace xylem::fabric {

// Loads and times count as equal if they differ by less than this part.
constexpr double kSameScore = 1e-9;

// Seconds per GB of the AllReduce over rings and over trees if the fabric never limited it: the time of the
// busiest NIC, whose speed is the least of those of its ports, of the host and of the plan's channels.
using QuietTimes = ByTraffic<double>;
QuietTimes quietTimes(const Traffic& traffic, const Attachments& attachments, const std::vector<int>& order);

struct TrafficScore {
  double quiet = 0;  // s per GB
  double time = 0;   // s per GB, limited by the fabric, too: at least `quiet`
  double slowdown = 1;
  int worst = -1;  // the slowest link between switches, the first of equals; -1 if there are no such links
  // Bytes on a cable per byte of the AllReduce: quantiles over both directions of all cables between
  // switches.
  double most = 0, ninetieth = 0, median = 0;
  double all = 0;            // their sum over all these cables
  std::int64_t slowing = 0;  // cables, per direction, that need longer than `quiet`
  std::int64_t cables = 0;   // number of cables, per direction
};
using Score = ByTraffic<TrafficScore>;

Score scoreOf(const Congestion& congestion, const FabricGraph& network, const QuietTimes& quiet);

// Returns the links between switches, the slowest first.
std::vector<int> busiestLinks(const Congestion& congestion, const FabricGraph& network, int kind);

// The bytes that flows between two places send over a link.
struct Crossing {
  int from = 0, to = 0;  // places in the order
  double bytes = 0;
  std::uint64_t channels = 0;      // a bit each
  std::set<int> fromNics, toNics;  // indices into Traffic::nics
};
// Returns the crossings of each of `links`, the largest first.
std::vector<std::vector<Crossing>> crossings(const Traffic& traffic, int kind, const std::vector<int>& order,
                                             const Attachments& attachments, FabricGraph& network,
                                             const std::vector<int>& links);

}  // namespace xylem::fabric
