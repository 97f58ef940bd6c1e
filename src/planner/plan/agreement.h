#pragma once
// Checks whether all ranks of a job decide alike. NCCL computes some values per rank without exchanging them.
// On hosts of different kinds they can differ, and a job whose ranks differ in a choice or a number of
// channels hangs.
//
//   Agreement agreement = agreementOf(plan);
//   for (Decided what : agreement.differ) ... name(what), hangs(what) ...

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::plan {

// The values that ranks compute on their own. name() gives NCCL's words.
enum class Decided : std::uint8_t {
  kBandwidths,
  kChoice,  // algorithm, protocol, predicted time, channels or warps, for any of eight sizes per power of two
  kCollnetHeads,
  kLatencies,
  kChannels,
  kNvlsChannels,
  kP2pChannels,
  kP2pChannelsPerPeer,
};
const char* name(Decided what);
// Returns whether ranks that differ in it wait for each other for ever.
bool hangs(Decided what);

struct Agreement {
  std::vector<Decided> differ;  // in alphabetical order of their names
  int netErrors = 0;            // ring ends that need a NIC on nodes that reach none

  bool consistent() const { return differ.empty(); }
};

Agreement agreementOf(const Plan& plan);

// Returns, by view, the number of ring ends of such a node that need a NIC and reach none. All are 0 for a
// job on one node.
std::vector<int> ringEndsWithoutNic(const Plan& plan);

// Returns whether two views differ in it.
bool differ(const Plan& plan, int viewA, int viewB, Decided what);

}  // namespace xylem::plan
