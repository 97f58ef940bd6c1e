#pragma once
// What the tuning model needs of a job, as the ranks of one view know it.

#include "planner/connect/connections.h"
#include "planner/tuning/tuning_input.h"

namespace xylem {

// Under Rules::kXylem all views get the same.
TuningInput tuningInput(const Connections& connections, int view);

}  // namespace xylem
