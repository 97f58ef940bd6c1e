#pragma once
// Finds the rules that decided an answer and have not always been NCCL's.
//
//   addVersionRules(answer, request, settings, [&](const plan::Plan& plan) { return answerOf(plan); });

#include <functional>

#include "insight/why/answer.h"
#include "planner/plan/planner.h"

namespace xylem::why {

// Plans the job by older rules, with as few of the changes since then as lead to the same answer, and adds these to it. Adds
// nothing if the oldest rules have the same answer.
void addVersionRules(Answer& answer, const plan::PlanRequest& request, const Settings& settings,
                     const std::function<Answer(const plan::Plan&)>& ask);

}  // namespace xylem::why
