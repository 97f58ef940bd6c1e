#pragma once
// From what the ranks tell each other to the plan of their job: each describes its host and its own device,
// all descriptions are fused, and every rank plans the whole by itself, with the same outcome.
//
//   PlannedJob job = planWithPeers(ring, peers, settings, device);
//   job.rings[channel] ...

#include <cstdint>
#include <span>

#include "bootstrap/ring.h"
#include "comm/peer_info.h"
#include "plan/plan.h"

namespace xylem {

struct PlannedJob {
  Plan plan;
  std::vector<std::vector<int>> rings;  // by channel, from rank 0
  Neighbourhood neighbourhood;
  std::uint64_t busId = 0;  // of this rank's device
};

// Throws if two ranks have one GPU, or if ranks are on several hosts.
PlannedJob planWithPeers(Ring& ring, std::span<const PeerInfo> peers, const Settings& settings, int device);

// Throws if the ranks did not come to the same rings; they differ if their settings do.
void checkSamePlan(Ring& ring, const std::vector<std::vector<int>>& rings);

}  // namespace xylem
