// Questions about a plan, of the public header.

#include "plan/public_plan.h"
#include "why/json.h"
#include "why/why.h"

namespace xylem {

std::string JobPlan::why(const std::vector<std::string>& question) const {
  return guarded([&] { return answerJson(Inquiry(state_->request, state_->settings).ask(question)); });
}

}  // namespace xylem
