#pragma once
// What is left of a host's links when all channels of a graph have taken theirs, and what keeps the next one
// from fitting.
//
//   const RoomLeft room = roomLeft(plan.hostOf(0), GraphKind::kRing);
//   room.stops[0]  ->  GPU 0 reaches no other GPU any more: the link to GPU 3 has 8.0 of 20.0 GB/s left
//
// A stop proves that no further channel with this bandwidth fits: every channel has to pass there. Without a
// stop every GPU still has a way on, but no order of all GPUs was found within the steps of the search.

#include <vector>

#include "plan/plan.h"

namespace xylem {

// One link that is too full.
struct FullLink {
  LinkId link = kNoLink;
  float free = 0;    // GB/s
  float wanted = 0;  // GB/s, of the next channel
  NodeId towards = kNoNode;
};

enum class Passage : std::uint8_t { kToGpus, kFromGpus, kFromNet, kToNet };

struct Stop {
  NodeId node = kNoNode;  // kNoNode: no NET at all
  Passage passage = Passage::kToGpus;
  std::vector<FullLink> links;  // each once
  bool tooFar = false;          // some ends are out of the graph's path types
};

struct RoomLeft {
  std::vector<Stop> stops;
  bool exact = true;  // false: the channels (of a graph file) take more than there is
};

// For rings and trees; others have no stops.
RoomLeft roomLeft(const HostPlan& host, GraphKind kind);

}  // namespace xylem
