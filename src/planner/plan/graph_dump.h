#pragma once
// The graphs of a plan as NCCL dumps them: those of one rank's host, before ranks merge theirs.
//
//   dumpGraphs(plan, settings);         // a planner: writes the file of NCCL_GRAPH_DUMP_FILE_RANK
//   dumpGraphs(plan, settings, rank);   // a rank of a job: writes the file if it is that rank

#include <string>

#include "core/settings.h"
#include "planner/plan/plan.h"

namespace xylem::plan {

// Returns the text of the graph file.
std::string graphDump(const Plan& plan, int rank);

// Both write nothing if NCCL_GRAPH_DUMP_FILE is not set or the job lacks the rank that
// NCCL_GRAPH_DUMP_FILE_RANK names.
void dumpGraphs(const Plan& plan, const Settings& settings);
void dumpGraphs(const Plan& plan, const Settings& settings, int rank);

}  // namespace xylem::plan
