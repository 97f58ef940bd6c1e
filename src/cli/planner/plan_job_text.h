#pragma once
// What a plan says of the whole job: rings and trees over its nodes, and what a collective gets by its size.

#include <string>

#include "cli/terminal.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

std::string ringsText(const Plan& plan, const Terminal& screen);
// Both trees over nodes; empty for one node.
std::string treesText(const Plan& plan, const Terminal& screen);
// AllReduce, as the ranks of rank 0's kind choose; empty for one rank.
std::string choicesText(const Plan& plan, const Terminal& screen);

}  // namespace xylem::cli
