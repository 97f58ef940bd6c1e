#pragma once
// The reach rules of one rank's host and the paths on it, as steps of an answer.
//
//   const HostRules rules(plan, rank);
//   answer.steps.push_back(rules.step(rules.reach().gdr(gpu, net, Direction::kSend)));
//   answer.steps.push_back(Hops(rules, rules.paths(), gpu, net).typeStep());
//   answer.steps.back().text   ->   "the path is SYS (7): CPU 1 to CPU 0: from one CPU to another"

#include <span>
#include <string>

#include "planner/paths/reach.h"
#include "planner/plan/plan.h"
#include "insight/why/answer.h"

namespace xylem {

// Asks the rules again, and turns their Decisions into steps.
class HostRules {
 public:
  HostRules(const Plan& plan, int rank) : HostRules(plan, rank, plan.hostOf(rank)) {}
  // On another graph of the rank's host, such as wholeHost() makes. Keeps references to both.
  HostRules(const Plan& plan, int rank, const HostPlan& host);

  const HostPlan& host() const { return host_; }
  const System& system() const { return host_.system(); }
  const PathTable& paths() const { return host_.paths.paths; }
  const Locality& locality() const { return locality_; }
  const Reach& reach() const { return reach_; }
  std::string name(NodeId node) const;

  // The decision that the planner made while it computed paths, on the paths before the decision changed
  // them; null if the planner did not ask the rule then.
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

// The host of `rank` with all its GPUs, including those that the rank reaches only over the network. Without
// graphs.
HostPlan wholeHost(const Plan& plan, int rank);

// A path link by link: which path type each link makes of it, and which link limits its bandwidth.
class Hops {
 public:
  // `paths`: those of the rules' host, or the ones before the reach rules changed them.
  Hops(const HostRules& rules, const PathTable& paths, NodeId from, NodeId to)
      : rules_(rules), path_(paths.path(from, to)), links_(paths.links(path_)) {}

  const Path& path() const { return path_; }
  std::size_t count() const { return links_.size(); }

  // Names the link that gives the path its type, with its line in the file.
  AnswerStep typeStep() const;
  // Names the narrowest link.
  AnswerStep bandwidthStep() const;
  AnswerTable table() const;

 private:
  struct Hop {
    PathType type = PathType::kLoc;
    const char* because = "";
  };
  Hop judge(std::size_t i) const;
  bool isRelayed(std::size_t i) const;
  void explainPxn(AnswerStep& step) const;

  const HostRules& rules_;
  const Path& path_;
  std::span<const LinkId> links_;
};

}  // namespace xylem
