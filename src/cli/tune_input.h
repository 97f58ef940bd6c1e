#pragma once
// The tuning model's input of a plan.

#include "plan/plan.h"
#include "tuning/tuning_input.h"

namespace xylem::cli {

TuningInput tuningInput(const Plan& plan);

}  // namespace xylem::cli
