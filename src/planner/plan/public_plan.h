#pragma once
// The content of a JobPlan of the public header (include/xylem/plan.h). Modules above the planner
// (insight/why, insight/diff) use it to define the members of JobPlan that they answer.

#include "core/error.h"
#include "core/settings.h"
#include "planner/plan/assumptions.h"
#include "planner/plan/planner.h"
#include "xylem/plan.h"

namespace xylem {

// A plan with what it was made of, for questions that plan again.
struct PlannedRequest {
  plan::PlanRequest request;
  Settings settings;
  plan::Plan plan;
  plan::Remarks remarks;
};
struct JobPlan::State : PlannedRequest {};

// Calls `make` and turns every Error into a PlanError, the one error of the public header.
template <typename Make>
auto guarded(const Make& make) try {
  return make();
} catch (const Error& error) {
  throw PlanError(error.what());
}

}  // namespace xylem
