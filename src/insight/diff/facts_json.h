#pragma once
// Parts of a plan's JSON as facts, for whoever has the parts and not the whole (insight/diff/facts.cc).
//
//   addRankFacts(facts, connectionsJson(plan, 7));
//   HostFacts other = hostFactsOf(hostJson(plan.hostOf(7), plan, 0));
//
// Throws nlohmann's exceptions for what is not there or of another type.

#include "insight/diff/facts.h"
#include "planner/plan/json_value.h"

namespace xylem {

// `host` section: nodes, links, paths, decisions, graphs.
HostFacts hostFactsOf(const Json& host);
// The ranks of a `connections` section.
void addRankFacts(PlanFacts& facts, const Json& connections);

}  // namespace xylem
