#pragma once
// Questions about a plan: why did the planner decide so?
//
//   const Inquiry inquiry(request, settings);
//   Answer answer = inquiry.ask({"gdr", "gpu0", "nic2"});
//
// GPUs are named by their rank in the job (gpu3, "GPU 3", rank3), by device number on the first host (dev3)
// or by bus id; NICs by the NET's number (nic1, net1, "NET 1"), its name (mlx5_0) or the bus id of the NIC.
// Answers come from the plan's decisions; what another setting would change is found by planning again.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "planner/plan/planner.h"
#include "insight/why/answer.h"

namespace xylem {

// A kind of question, for help and messages.
struct QuestionKind {
  const char* name;
  const char* arguments;
  const char* help;
};
std::span<const QuestionKind> questionKinds();

class Inquiry {
 public:
  // Plans the job; throws as planJob does.
  Inquiry(PlanRequest request, Settings settings);

  // Throws InputError, with what could be meant, for questions, GPUs and NICs that there are not.
  Answer ask(const std::vector<std::string>& words) const;
  const Plan& plan() const { return *plan_; }

 private:
  PlanRequest request_;
  Settings settings_;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace xylem
