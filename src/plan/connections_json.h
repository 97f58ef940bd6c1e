#pragma once
// The `merged` and `connections` sections of a plan's JSON.

#include "plan/json_value.h"
#include "plan/plan.h"

namespace xylem {

Json mergedJson(const Connections& connections);
Json connectionsJson(const Plan& plan);

}  // namespace xylem
