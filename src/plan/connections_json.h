#pragma once
// The `merged` and `connections` sections of a plan's JSON.

#include "plan/json_value.h"
#include "plan/plan.h"

namespace xylem {

Json mergedJson(const Connections& connections);
// Of all ranks, or without rings and with `rank` alone.
Json connectionsJson(const Plan& plan, int rank = -1);

}  // namespace xylem
