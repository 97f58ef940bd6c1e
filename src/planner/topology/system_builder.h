#pragma once
// Makes the graph of the machine from a topology document, by the rules of a version of NCCL.
//
//   System system = buildSystem(completeForJob(readTopology("dgxh100.xml"), *rules), rules);
//
// Only gpu elements with a `rank` and net elements with a `dev` become nodes. Throws InputError (file and
// line) for attributes that are missing, unusable or contradictory.

#include "planner/topology/document.h"
#include "planner/topology/system.h"

namespace xylem::topology {

System buildSystem(const Document& document, std::shared_ptr<const rules::RuleSet> rules);

}  // namespace xylem::topology
