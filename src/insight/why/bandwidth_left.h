#pragma once
// The bandwidth that the channels of a graph leave on a host's links, and the closed passages that keep one
// more channel from fitting.
//
//   const BandwidthLeft left = bandwidthLeft(plan.hostOf(0), GraphKind::kRing);
//   left.stops[0].links[0].free   ->   8.0 GB/s, where the next channel needs 20.0
//
// A closed passage proves that no further channel of this bandwidth fits beside those found: every channel
// has to go through it. If no passage is closed, every GPU still reaches another one; `order` says whether
// those ways could form a channel.

#include <utility>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::why {

// A link without enough bandwidth for the next channel.
struct FullLink {
  topology::LinkId link = topology::kNoLink;
  float free = 0;                                // GB/s
  float wanted = 0;                              // GB/s that the next channel needs
  topology::NodeId towards = topology::kNoNode;  // the GPU or NET that a channel would reach over it
};

enum class Passage : std::uint8_t { kToGpus, kFromGpus, kFromNet, kToNet };

// GPUs, or all NETs of the host, that no further channel can leave, or reach.
struct ClosedPassage {
  std::vector<topology::NodeId> nodes;  // GPUs; empty: all NETs
  Passage passage = Passage::kToGpus;
  std::vector<FullLink> links;  // each once
  bool tooFar = false;          // some ends are farther away than the graph's path types allow
};

enum class OrderLeft : std::uint8_t {
  kNone,     // the ways left make no channel through all GPUs
  kPerhaps,  // each of them is free, and they make one; together they may take too much of a link
  kTooMany,  // too many GPUs to try all orders
};

struct BandwidthLeft {
  std::vector<ClosedPassage> stops;  // each passage at most once
  std::vector<std::pair<topology::NodeId, topology::NodeId>>
      ways;  // between GPUs, with enough bandwidth for the next channel
  OrderLeft order = OrderLeft::kTooMany;
  bool exact = true;  // false: the channels, those of a graph file, take more than the links have
};

// For ring, tree and CollNet chain graphs; no stops for others.
BandwidthLeft bandwidthLeft(const plan::HostPlan& host, search::GraphKind kind);

}  // namespace xylem::why
