#pragma once
// A path link by link, for answers: what each link makes of the path's type, and which one limits it.
//
//   const Hops hops(rules, rules.paths(), gpu, net);
//   answer.steps.push_back(hops.typeStep());        // "the path is SYS (7): CPU 1 to CPU 0: ..."
//   answer.tables.push_back(hops.table());

#include <span>

#include "insight/why/rules.h"

namespace xylem {

class Hops {
 public:
  // `paths`: those of the rules' host, or the same without adjustments.
  Hops(const HostRules& rules, const PathTable& paths, NodeId from, NodeId to)
      : rules_(rules), path_(paths.path(from, to)), links_(paths.links(path_)) {}

  const Path& path() const { return path_; }
  std::size_t count() const { return links_.size(); }

  // Which link makes the path as far as it is, with its line in the file.
  AnswerStep typeStep() const;
  // Which link is the narrowest.
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
