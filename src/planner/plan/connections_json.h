#pragma once
// The `merged` and `connections` sections of a plan's JSON.

#include "planner/plan/json_value.h"
#include "planner/plan/plan.h"

namespace xylem {

Json mergedJson(const Connections& connections);
// Of all ranks, or without rings and with `rank` alone.
Json connectionsJson(const Plan& plan, int rank = -1);

}  // namespace xylem
