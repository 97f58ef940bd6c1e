#pragma once
// What sets two plans apart: what changed in the machine and in what was asked, and what followed from it in
// paths, decisions, channels, connections and choices.
//
//   PlanFacts a = factsOf(planJob(before, settings), before);
//   PlanFacts b = factsOf(planJob(after, settings), after);
//   PlanDiff diff = comparePlans(a, b);
//   diff.samePlan()                  ->  false
//   diff.paths[0].before, .after     ->  "NVL 240.0", "NVL 80.0", for so many .members
//
// Nodes are matched by what they are (bus id, NUMA id, name of the network device), never by their place.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "insight/diff/facts.h"

namespace xylem {

// One of the things that changed in the same way.
struct ChangedThing {
  std::string name;          // "GPU 0 - GPU 1"
  int lineA = 0, lineB = 0;  // in the topology files; 0 unknown or not there
};

// Things that changed in the same way.
struct Change {
  std::string where;          // which kind of host, in jobs of several; else empty
  std::string kind;           // of thing, in the singular: "GPU pair", "nvlink", "channel"
  std::string what;           // of it changed: "count", "direct access"; empty: the thing itself
  std::string before, after;  // empty: not there
  std::string whyBefore, whyAfter;
  int outOf = 0;  // so many things of the kind are on both sides; 0: no matter
  std::vector<ChangedThing> things;
};
using Changes = std::vector<Change>;

// Neighbouring message sizes of a collective for which the same change holds.
struct ChoiceChange {
  std::string collective;
  std::uint64_t fromBytes = 0, toBytes = 0;
  std::string before, after;             // "Ring Simple"; empty: nothing can run it
  double leastRatio = 0, mostRatio = 0;  // predicted time, after by before; 0: one is unknown
};

struct PlanDiff {
  // Causes.
  Changes asked;    // settings, number of hosts, what the machines offer
  Changes machine;  // elements of the topology files; nodes, where a side is a plan without its file
  Changes order;    // the same elements in another order
  Changes links;    // GB/s
  // Effects: the plan.
  Changes ranks;      // which GPU is which rank
  Changes paths;      // type and GB/s
  Changes decisions;  // direct access, GPU Direct RDMA, PXN
  Changes channels;   // graphs of a host
  Changes connections;
  std::vector<ChoiceChange> choices;
  // What a reader should know of the comparison itself.
  std::vector<std::string> remarks;

  bool samePlan() const {
    return ranks.empty() && paths.empty() && decisions.empty() && channels.empty() && connections.empty() &&
           choices.empty();
  }
  bool sameCauses() const { return asked.empty() && machine.empty() && order.empty() && links.empty(); }
};

PlanDiff comparePlans(const PlanFacts& a, const PlanFacts& b);

}  // namespace xylem
