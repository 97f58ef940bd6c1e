#pragma once
// The bandwidth of a plan's rings and trees beside the most that any could have, for people and programs.
//
//   for (const PlanBound& bound : boundsOf(plan, host)) text += boundLine(bound, host.system(), screen);

#include <string>

#include "cli/terminal.h"
#include "insight/optimum/plan_bounds.h"
#include "planner/plan/json_value.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

// "rings".
const char* plural(GraphKind kind);
// "rings: 15.0 GB/s together, 94% of the bound 16.0: …"
std::string boundLine(const PlanBound& bound, const System& system, const Terminal& screen);
// What sets the bound: the cut, or the links that the program is short of.
std::string limitText(const Bound& bound, const System& system);

Json boundJson(const Bound& bound, const System& system);
// The JSON of a plan with `bounds`, by view.
std::string withBounds(const std::string& planJson, const Plan& plan);

}  // namespace xylem::cli
