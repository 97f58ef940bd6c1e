#pragma once
// Which single change would make a job faster: each candidate is applied, the job planned again, and what
// helps is ranked.
//
//   RepairSearch search(request, settings);
//   while (search.next()) say(search.tried(), search.total());
//   search.found()[0].candidate.edit   ->   "move nets beside gpus"
//   search.found()[0].after            ->   Scores
//
// Planning takes most of the time, so whoever asks can say how far it is.

#include <string>
#include <vector>

#include "planner/plan/planner.h"
#include "insight/whatif/apply.h"
#include "insight/whatif/candidates.h"
#include "insight/whatif/score.h"

namespace xylem {

struct Repair {
  RepairCandidate candidate;
  Scores after;
  int netsUsed = 0;
};

// How the NET of a host stands in the plan.
struct NetState {
  NodeId net = kNoNode;
  bool used = false;  // by a ring of the host
  NodeId nearestGpu = kNoNode;
  PathType type = PathType::kDis;  // of the path from that GPU
  float bandwidth = 0;             // GB/s
  // The link of the path that has the least for each NET whose path takes it; kNoLink without a path.
  LinkId narrowest = kNoLink;
  int sharers = 1;        // so many NETs
  NodeId twin = kNoNode;  // an earlier NET with the same hardware id and port: the two share its bandwidth
  std::string gdr;        // why there is no GPU Direct RDMA between the two; empty: there is
};
// Of the host of rank 0, in the order of its NETs.
std::vector<NetState> netStates(const Plan& plan);
int netsUsed(const Plan& plan);

class RepairSearch {
 public:
  // Plans the job as it is. One kind of host only: the first. Throws InputError as planJob does.
  RepairSearch(PlanRequest request, Settings settings);

  const Plan& before() const { return before_; }
  const Scores& scores() const { return scores_; }
  int total() const { return static_cast<int>(candidates_.size()); }
  int tried() const { return tried_; }
  // Tries one more candidate; false if there is none left.
  bool next();
  // The best first.
  std::vector<Repair> found() const;
  // The machine, and the settings, with the first of found(), which there has to be.
  Edited withFirst() const;

 private:
  Edited with(const RepairCandidate& candidate) const;

  PlanRequest request_;
  Settings settings_;
  Plan before_;
  Scores scores_;
  std::vector<RepairCandidate> candidates_;
  std::vector<Repair> found_;
  int tried_ = 0;
};

// The search's outcome in the format xylem-repair-1.
std::string repairJson(const RepairSearch& search, const std::string& machine);

}  // namespace xylem
