#pragma once
// Questions about a plan: why did the planner decide so? The answers come from the decisions that the plan
// records; to say what another setting would change, the job is planned again.
//
//   const Inquiry inquiry(request, settings);
//   Answer answer = inquiry.ask({"gdr", "gpu0", "nic2"});
//
// A question names a GPU by its rank in the job (gpu3, "GPU 3", rank3), by its device number on the first
// host (dev3) or by its bus id; a NIC by the number of the NET (nic1, net1, "NET 1"), by its name (mlx5_0) or
// by its bus id.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "insight/why/answer.h"
#include "planner/plan/planner.h"

namespace xylem::why {

// A kind of question, for help and error messages.
struct QuestionKind {
  const char* name;
  const char* arguments;
  const char* help;
};
std::span<const QuestionKind> questionKinds();

class Inquiry {
 public:
  // Plans the job; throws as planJob does.
  Inquiry(plan::PlanRequest request, Settings settings);

  // Throws InputError for an unknown question, GPU or NIC; the message lists those that exist.
  Answer ask(const std::vector<std::string>& words) const;
  const plan::Plan& plan() const { return *plan_; }

 private:
  plan::PlanRequest request_;
  Settings settings_;
  std::unique_ptr<const plan::Plan> plan_;
};

}  // namespace xylem::why
