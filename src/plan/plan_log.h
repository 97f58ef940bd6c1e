#pragma once
// NCCL's own lines about a plan, in the order in which a rank meets what they tell. Whoever called the
// planner writes them, if anybody wants to read them:
//
//   for (const LogLine& line : planLog(plan)) logger.write(line);

#include <vector>

#include "core/log.h"
#include "plan/plan.h"

namespace xylem {

std::vector<LogLine> planLog(const Plan& plan, int rank = 0);

// The lines' texts as NCCL writes them with NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING, less what stands before each.
std::string logText(const std::vector<LogLine>& lines);

}  // namespace xylem
