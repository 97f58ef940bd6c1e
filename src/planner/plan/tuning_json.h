#pragma once
// The `tuning` section of a plan's JSON: NCCL's model, and what it chooses for some sizes.

#include "planner/plan/json_value.h"
#include "planner/tuning/choice.h"
#include "planner/tuning/model.h"

namespace xylem {

Json tuningJson(const TuningModel& model);

// Its parts: the tables of the model, and one choice. A choice that nothing can run has an `error` in place
// of the rest.
Json tuningTablesJson(const TuningModel& model);
Json choiceJson(const Choice& choice);

}  // namespace xylem
