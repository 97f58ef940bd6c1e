#pragma once
// The graphs of a plan as NCCL dumps them: before ranks agree, as one rank's host has them.
//
//   dumpGraphs(plan, settings);         // a planner: for NCCL_GRAPH_DUMP_FILE_RANK
//   dumpGraphs(plan, settings, rank);   // a rank of a job: only if it is that one

#include <string>

#include "core/settings.h"
#include "planner/plan/plan.h"

namespace xylem {

// The text of a graph file.
std::string graphDump(const Plan& plan, int rank);

// Writes NCCL_GRAPH_DUMP_FILE if that is set and the job has the rank that NCCL_GRAPH_DUMP_FILE_RANK names.
void dumpGraphs(const Plan& plan, const Settings& settings);
void dumpGraphs(const Plan& plan, const Settings& settings, int rank);

}  // namespace xylem
