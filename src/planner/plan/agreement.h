#pragma once
// Whether all ranks of a job decide alike. NCCL computes some things per rank without exchanging them; on
// different hosts they can differ, and a job whose ranks differ in a choice or a number of channels hangs.
//
//   Agreement agreement = agreementOf(plan);
//   for (const Disagreement& d : agreement.differences) ... d.what, d.views ...

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem {

// In NCCL's words.
enum class Decided : std::uint8_t {
  kBandwidths,
  kChoice,  // for one of choiceSizes(): algorithm, protocol, predicted time, channels or warps
  kCollnetHeads,
  kLatencies,
  kChannels,
  kNvlsChannels,
  kP2pChannels,
  kP2pChannelsPerPeer,
};
const char* name(Decided what);
// Do ranks that differ in it wait for each other for ever?
bool hangs(Decided what);

struct Agreement {
  std::vector<Decided> differ;  // in alphabetical order of their names
  int netErrors = 0;            // ring ends on nodes that reach no NIC

  bool consistent() const { return differ.empty(); }
};

Agreement agreementOf(const Plan& plan);

// By view: on how many ends the rings of such a node want a NIC and have none. 0 for all on one node.
std::vector<int> ringEndsWithoutNic(const Plan& plan);

// Do two views differ in it?
bool differ(const Plan& plan, int viewA, int viewB, Decided what);

}  // namespace xylem
