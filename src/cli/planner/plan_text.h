#pragma once
// A plan for people: the job, the graphs that were found, their channels, and the rings of the whole job.
//
//   writeOut(planText(plan, "dgxh100.xml", terminalOf(stdout)));

#include <string>

#include "cli/terminal.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

std::string planText(const Plan& plan, const std::string& machine, const Terminal& screen);

}  // namespace xylem::cli
