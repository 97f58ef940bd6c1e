#pragma once
// NCCL's own log lines about a plan, in the order in which a rank of NCCL writes them. The planner writes
// nothing: its caller does.
//
//   for (const LogLine& line : planLog(plan)) logger.write(line);

#include <vector>

#include "core/log.h"
#include "planner/plan/plan.h"

namespace xylem::plan {

std::vector<LogLine> planLog(const Plan& plan, int rank = 0);

// The three parts of planLog(). A joining rank connects to its peers between the second and the third.
std::vector<LogLine> hostLog(const Plan& plan, int rank);     // the host, and the channels found in it
std::vector<LogLine> connectLog(const Plan& plan, int rank);  // trees and rings over all hosts
std::vector<LogLine> tuningLog(const Plan& plan, int rank);   // costs, and how many channels

// Returns the texts of the lines that NCCL writes with NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING, without the
// prefix of each.
std::string logText(const std::vector<LogLine>& lines);

}  // namespace xylem::plan
