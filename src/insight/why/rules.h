#pragma once
// The reach rules of one rank's host, asked again for an answer, and their Decisions as steps of it.
//
//   const HostRules rules(plan, rank);
//   answer.steps.push_back(rules.step(rules.reach().gdr(gpu, net, Direction::kSend)));

#include <string>

#include "planner/paths/reach.h"
#include "planner/plan/plan.h"
#include "insight/why/answer.h"

namespace xylem {

class HostRules {
 public:
  HostRules(const Plan& plan, int rank) : HostRules(plan, rank, plan.hostOf(rank)) {}
  // On another graph of the rank's host, as wholeHost() makes.
  HostRules(const Plan& plan, int rank, const HostPlan& host);

  const HostPlan& host() const { return host_; }
  const System& system() const { return host_.system(); }
  const PathTable& paths() const { return host_.paths.paths; }
  const Locality& locality() const { return locality_; }
  const Reach& reach() const { return reach_; }
  std::string name(NodeId node) const;

  // The decision made while paths were computed, before what it changed; null if the rule was not asked then.
  const Decision* made(Rule rule, NodeId subject, NodeId object) const;

  // The decision as a step: its sentence with the names of answers, inputs, threshold, variable and sources.
  AnswerStep step(const Decision& decision) const;
  // The sentence alone, without its two ends: "no GPU Direct RDMA when receiving: the path is …".
  std::string sentence(const Decision& decision) const;

 private:
  void addInputs(AnswerStep& step, const Decision& decision) const;
  void addPxnInputs(AnswerStep& step, const Decision& decision) const;

  const Plan& plan_;
  int rank_;
  const HostPlan& host_;
  Locality locality_;
  Reach reach_;
};

// The host of `rank` with all its GPUs, also those that the rank reaches only over the network. No graphs.
HostPlan wholeHost(const Plan& plan, int rank);

// "PXB (4), NCCL's default", "PIX (3), set by NCCL_P2P_LEVEL".
std::string limitText(const Decision& decision);

}  // namespace xylem
