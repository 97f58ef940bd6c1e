#pragma once
// The attributes that a version of NCCL writes into the description of a machine (NCCL_TOPO_DUMP_FILE), and older ones do not.
//
//   writeTopology(asWrittenBy(*rules, detectTopology(options)))   ->   <net … gdr="1" net="1" rma="1"/>

#include "planner/rules/rule_set.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// Detection finds no parts of GPUs, and no NICs that GPUs can start themselves. The built-in InfiniBand plugin is taken for
// granted.
Document asWrittenBy(const rules::RuleSet& rules, Document document);

}  // namespace xylem::topology
