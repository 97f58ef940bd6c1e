#pragma once
// One rank's view of a plan for people: where it is, its neighbours in every ring and tree, its NICs.

#include <string>

#include "cli/terminal.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

std::string rankText(const Plan& plan, int rank, const Terminal& screen);

}  // namespace xylem::cli
