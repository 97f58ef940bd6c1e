#pragma once
// The parts of a comparison, cause before effect; insight/diff/diff.h puts them together.
//
//   compareReach(a.hosts[0], b.hosts[0], match, "", diff);   // fills diff.paths and diff.decisions

#include "insight/diff/diff.h"
#include "insight/diff/names.h"

namespace xylem {

// Names before and after, in the order of the first list; what one side lacks is `absent` there.
void compareValues(const NamedValues& a, const NamedValues& b, const std::string& kind,
                   const std::string& where, Changes& changes, const std::string& absent = "");

// machine, order, links, ranks.
void compareMachines(const HostFacts& a, const HostFacts& b, const NodeMatch& match, const std::string& where,
                     PlanDiff& diff);
// paths, decisions.
void compareReach(const HostFacts& a, const HostFacts& b, const NodeMatch& match, const std::string& where,
                  PlanDiff& diff);
// channels: values of graphs, and the order of ranks in them. Without `match` NETs are compared by name.
void compareGraphs(const std::vector<GraphFacts>& a, const std::vector<GraphFacts>& b, const NodeMatch& match,
                   const std::string& where, PlanDiff& diff);
// connections. `match` is that of the first kind of host.
void compareConnections(const PlanFacts& a, const PlanFacts& b, const NodeMatch& match, PlanDiff& diff);
// choices.
void compareChoices(const PlanFacts& a, const PlanFacts& b, PlanDiff& diff);

}  // namespace xylem
