#pragma once
// What stops the next channel of a graph, as steps of an answer: the full links, or that no order is left.
//
//   for (AnswerStep& step : whatStops(plan, rank, GraphKind::kRing)) answer.steps.push_back(std::move(step));

#include <vector>

#include "planner/plan/plan.h"
#include "insight/why/answer.h"

namespace xylem {

// Of the host of `rank`. Empty for graphs without channels and those that are no rings or trees.
std::vector<AnswerStep> whatStops(const Plan& plan, int rank, GraphKind kind);

}  // namespace xylem
