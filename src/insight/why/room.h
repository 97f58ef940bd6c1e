#pragma once
// What is left of a host's links when all channels of a graph have taken theirs, and what keeps the next one
// from fitting.
//
//   const RoomLeft room = roomLeft(plan.hostOf(0), GraphKind::kRing);
//   room.stops[0]  ->  GPU 0 reaches no other GPU any more: the link to GPU 3 has 8.0 of 20.0 GB/s left
//
// A stop proves that no further channel with this bandwidth fits beside these: every channel has to pass
// there. Without a stop every GPU still has a way on; `order` says whether those ways could make a channel.

#include <utility>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem {

// One link that is too full.
struct FullLink {
  LinkId link = kNoLink;
  float free = 0;    // GB/s
  float wanted = 0;  // GB/s, of the next channel
  NodeId towards = kNoNode;
};

enum class Passage : std::uint8_t { kToGpus, kFromGpus, kFromNet, kToNet };

struct RoomStop {
  std::vector<NodeId> nodes;  // GPUs; empty: it is about all NETs
  Passage passage = Passage::kToGpus;
  std::vector<FullLink> links;  // each once
  bool tooFar = false;          // some ends are out of the graph's path types
};

enum class OrderLeft : std::uint8_t {
  kNone,     // the ways left make no channel through all GPUs
  kPerhaps,  // they do, one by one; together they may take too much of a link
  kTooMany,  // too many GPUs to tell
};

struct RoomLeft {
  std::vector<RoomStop> stops;                  // each passage once
  std::vector<std::pair<NodeId, NodeId>> ways;  // from GPU to GPU, with room for the next channel
  OrderLeft order = OrderLeft::kTooMany;
  bool exact = true;  // false: the channels (of a graph file) take more than there is
};

// For rings and trees; others have no stops.
RoomLeft roomLeft(const HostPlan& host, GraphKind kind);

}  // namespace xylem
