// Questions about a plan, of the public header.

#include "planner/plan/public_plan.h"
#include "insight/why/json.h"
#include "insight/why/why.h"

namespace xylem {

std::string JobPlan::why(const std::vector<std::string>& question) const {
  return guarded([&] { return answerJson(Inquiry(state_->request, state_->settings).ask(question)); });
}

}  // namespace xylem
