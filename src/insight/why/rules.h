#pragma once
// The reach rules of one rank's host and the paths on it, as steps of an answer.
//
//   const HostRules rules(plan, rank);
//   answer.steps.push_back(rules.step(rules.reach().gdr(gpu, net, Direction::kSend)));
//   answer.steps.push_back(Hops(rules, rules.paths(), gpu, net).typeStep());
//   answer.steps.back().text   ->   "the path is SYS (7): CPU 1 to CPU 0: from one CPU to another"

#include <span>
#include <string>

#include "insight/why/answer.h"
#include "planner/paths/reach.h"
#include "planner/plan/plan.h"

namespace xylem::why {

// Asks the rules again, and turns their Decisions into steps.
class HostRules {
 public:
  HostRules(const plan::Plan& plan, int rank) : HostRules(plan, rank, plan.hostOf(rank)) {}
  // On another graph of the rank's host, such as plan::wholeHost() makes. Keeps references to both.
  HostRules(const plan::Plan& plan, int rank, const plan::HostPlan& host);

  const plan::HostPlan& host() const { return host_; }
  const topology::System& system() const { return host_.system(); }
  const paths::PathTable& paths() const { return host_.paths.paths; }
  const paths::Locality& locality() const { return locality_; }
  const paths::Reach& reach() const { return reach_; }
  std::string name(topology::NodeId node) const;

  // The decision that the planner made while it computed paths, on the paths before the decision changed
  // them; null if the planner did not ask the rule then.
  const paths::Decision* made(paths::Rule rule, topology::NodeId subject, topology::NodeId object) const;

  // The decision about GPU Direct RDMA, on the path as the planner found it. A refusal then turned the path
  // into one through the CPU, so that asking the rule again would give another reason.
  paths::Decision gdr(topology::NodeId gpu, topology::NodeId net, paths::Direction direction) const;

  // The decision as a step: its sentence with the names of answers, inputs, threshold, variable and sources.
  AnswerStep step(const paths::Decision& decision) const;
  // The sentence alone, without its two ends: "no GPU Direct RDMA when receiving: the path is …".
  std::string sentence(const paths::Decision& decision) const;

 private:
  void addInputs(AnswerStep& step, const paths::Decision& decision) const;
  void addPxnInputs(AnswerStep& step, const paths::Decision& decision) const;

  const plan::Plan& plan_;
  int rank_;
  const plan::HostPlan& host_;
  paths::Locality locality_;
  paths::Reach reach_;
};

// A path link by link: which path type each link makes of it, and which link limits its bandwidth.
class Hops {
 public:
  // `paths`: those of the rules' host, or the ones before the reach rules changed them.
  Hops(const HostRules& rules, const paths::PathTable& paths, topology::NodeId from, topology::NodeId to)
      : rules_(rules), path_(paths.path(from, to)), links_(paths.links(path_)) {}

  const paths::Path& path() const { return path_; }
  std::size_t count() const { return links_.size(); }

  // Names the link that gives the path its type, with its line in the file.
  AnswerStep typeStep() const;
  // Names the narrowest link.
  AnswerStep bandwidthStep() const;
  AnswerTable table() const;

 private:
  struct Hop {
    paths::PathType type = paths::PathType::kLoc;
    const char* because = "";
  };
  Hop judge(std::size_t i) const;
  bool isRelayed(std::size_t i) const;
  void explainPxn(AnswerStep& step) const;

  const HostRules& rules_;
  const paths::Path& path_;
  std::span<const topology::LinkId> links_;
};

}  // namespace xylem::why
