#pragma once
// A plan as JSON in the format `xylem-plan-1`: what `xylem plan --json` prints and what golden plans are
// written in.

#include <string>

#include "planner/plan/plan.h"

namespace xylem {

// Bandwidths in GB/s, times in microseconds; lists are in the engine's order, which is part of the decision.
// With `rank`, of the connections only those of that rank.
std::string planToJson(const Plan& plan, int rank = -1);

}  // namespace xylem
