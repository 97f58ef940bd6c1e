#pragma once
// The difference of two plans: what changed in the machine and in the request (causes), and what followed
// from it in paths, decisions, channels, connections and choices (effects).
//
//   PlanFacts a = factsOf(planJob(before, settings), before);
//   PlanFacts b = factsOf(planJob(after, settings), after);
//   PlanDiff diff = comparePlans(a, b);
//   diff.samePlan()                  ->  false
//   diff.paths[0].before, .after     ->  "NVL 240.0", "NVL 80.0"
//   diff.paths[0].things[0].name     ->  "GPU 0 - GPU 1"; as many things as pairs that changed so
//
// Nodes are matched by what they are (bus id, NUMA id, name of the network device); those that have other names
// on the two sides by their places in the topology files (renaming.h).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "insight/diff/facts.h"

namespace xylem::diff {

// One of the things that changed in the same way.
struct ChangedThing {
  std::string name;          // "GPU 0 - GPU 1"
  int lineA = 0, lineB = 0;  // in the topology files; 0: unknown, or absent on that side
};

// Things that changed in the same way.
struct Change {
  std::string where;          // the kind of host, in jobs with several kinds; else empty
  std::string kind;           // of the things, in the singular: "GPU pair", "nvlink", "channel"
  std::string what;           // the property that changed: "count", "direct access"; empty: the thing itself
  std::string before, after;  // empty: absent on that side
  std::string whyBefore, whyAfter;
  int outOf = 0;  // number of things of the kind that both sides have; 0: not counted
  std::vector<ChangedThing> things;
};
using Changes = std::vector<Change>;

// Neighbouring message sizes of a collective for which the same change holds.
struct ChoiceChange {
  std::string collective;
  std::uint64_t fromBytes = 0, toBytes = 0;
  std::string before, after;          // "Ring Simple"; empty: nothing can run it
  double minRatio = 0, maxRatio = 0;  // predicted time after the change, divided by that before; 0: unknown
};

// A device that has another name in B.
struct OtherName {
  std::string where;     // as in Change
  std::string kind;      // "net" or "pci"
  std::string inA, inB;  // the network device's name, or the bus id
};

struct PlanDiff {
  // Causes.
  Changes asked;    // settings, number of hosts, what the machines offer
  Changes machine;  // elements of the topology files; nodes, if a side is a plan without its file
  Changes order;    // the same elements in another order
  std::vector<OtherName> names;  // of devices that are matched by place; no difference
  Changes links;                 // GB/s
  // Effects on the plan.
  Changes ranks;      // the rank of each GPU
  Changes paths;      // type and GB/s
  Changes decisions;  // direct access, GPU Direct RDMA, PXN
  Changes channels;   // the graphs of a host
  Changes connections;
  std::vector<ChoiceChange> choices;
  // Remarks on the comparison itself, for the reader.
  std::vector<std::string> remarks;

  bool samePlan() const {
    return ranks.empty() && paths.empty() && decisions.empty() && channels.empty() && connections.empty() &&
           choices.empty();
  }
  bool sameCauses() const { return asked.empty() && machine.empty() && order.empty() && links.empty(); }
};

PlanDiff comparePlans(const PlanFacts& a, const PlanFacts& b);

// The format `xylem-diff-1`, with the names of the two sides: a section per member of PlanDiff, left out if
// nothing changed. `timeRatio` is the time after the change divided by that before.
nlohmann::ordered_json toJson(const PlanDiff& diff, const std::string& a, const std::string& b);

}  // namespace xylem::diff
