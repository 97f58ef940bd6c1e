#pragma once
// NCCL's own lines about a plan, in the order in which a rank meets what they tell. Whoever called the
// planner writes them, if anybody wants to read them:
//
//   for (const LogLine& line : planLog(plan)) logger.write(line);

#include <vector>

#include "core/log.h"
#include "planner/plan/plan.h"

namespace xylem {

std::vector<LogLine> planLog(const Plan& plan, int rank = 0);

// Its three parts. A rank that joins connects to others between the second and the third.
std::vector<LogLine> hostLog(const Plan& plan, int rank);     // the host, and the channels found in it
std::vector<LogLine> connectLog(const Plan& plan, int rank);  // trees and rings over all hosts
std::vector<LogLine> tuningLog(const Plan& plan, int rank);   // costs, and how many channels

// The lines' texts as NCCL writes them with NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING, less what stands before
// each.
std::string logText(const std::vector<LogLine>& lines);

}  // namespace xylem
