#pragma once
// The `tuning` section of a plan's JSON: NCCL's model, and what it chooses for some sizes.

#include "plan/json_value.h"
#include "tuning/model.h"

namespace xylem {

Json tuningJson(const TuningModel& model);

}  // namespace xylem
