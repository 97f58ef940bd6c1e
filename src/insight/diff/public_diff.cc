// Comparisons of plans, of the public header.

#include "insight/diff/diff.h"
#include "insight/diff/json.h"
#include "planner/plan/public_plan.h"

namespace xylem {

std::string JobPlan::diff(const JobPlan& other, const std::string& nameOfThis,
                          const std::string& nameOfOther) const {
  return guarded([&] {
    const PlanFacts before = factsOf(state_->plan, state_->request);
    const PlanFacts after = factsOf(other.state_->plan, other.state_->request);
    return diffToJson(comparePlans(before, after), nameOfThis, nameOfOther);
  });
}

}  // namespace xylem
