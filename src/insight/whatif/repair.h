#pragma once
// Finds the single change that makes a job fastest: applies one candidate after the other, plans the job
// again, and ranks the changes that help.
//
//   RepairSearch search(request, settings);
//   while (search.next()) progress.say(fmt::format("change {} of {}", search.tried(), search.total()));
//   search.found()[0].candidate.edit   ->   "move nets beside gpus"
//   search.found()[0].after            ->   its Scores
//
// Each step plans the job once, which takes most of the time; the caller steps the search, and can report
// progress.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "insight/whatif/edit.h"
#include "insight/whatif/score.h"
#include "planner/plan/planner.h"

namespace xylem::whatif {

struct RepairCandidate {
  std::string edit;  // for parseEdit()
  std::string what;  // "net3 beside gpu3"
  std::string todo;  // how to do it on the real machine
  int devices = 0;   // number of devices that it touches; 0: it sets a variable
};

// The changes that a search tries. They are chosen, not exhaustive: variables with sensible values; a card,
// or all of them, with GPU Direct RDMA, with a port of its own, on a wider or faster link, or beside the
// GPUs; as many NVLinks as other GPUs have. `host` has ranks (completeForJob).
std::vector<RepairCandidate> repairCandidates(const topology::Document& host, const Settings& settings,
                                              const search::GraphOptions& offered);

struct Repair {
  RepairCandidate candidate;
  Scores after;
  int netsUsed = 0;
};

// The part of a host's NET in the plan.
struct NetState {
  topology::NodeId net = topology::kNoNode;
  bool used = false;  // by a ring of the host
  topology::NodeId nearestGpu = topology::kNoNode;
  paths::PathType type = paths::PathType::kDis;  // of the path from that GPU
  float bandwidth = 0;                           // of that path, in GB/s
  // The link of the path that leaves the least to this NET when all NETs share it; kNoLink without a path.
  topology::LinkId narrowest = topology::kNoLink;
  int sharers = 1;  // number of NETs whose paths take this link
  topology::NodeId twin =
      topology::kNoNode;  // an earlier NET with the same hardware id and port: the two share its bandwidth
  std::string gdr;        // the reason why the GPU and the NET have no GPU Direct RDMA; empty: they have it
};
// The NETs of the host of rank 0, in their order, in a system with all GPUs of the host.
class HostNets {
 public:
  // `plan` stays.
  explicit HostNets(const plan::Plan& plan);
  const topology::System& system() const { return host().system(); }
  const std::vector<NetState>& states() const { return states_; }

 private:
  const plan::HostPlan& host() const { return whole_ ? *whole_ : plan_.hostOf(0); }

  const plan::Plan& plan_;
  std::optional<plan::HostPlan> whole_;  // if the plan has the host in parts
  std::vector<NetState> states_;
};
int netsUsed(const plan::Plan& plan);

class RepairSearch {
 public:
  // Plans the job as it is, which has one kind of host only. Throws InputError as planJob does.
  RepairSearch(plan::PlanRequest request, Settings settings);

  const plan::Plan& before() const { return before_; }
  const Scores& scores() const { return scores_; }
  int total() const { return static_cast<int>(candidates_.size()); }
  int tried() const { return tried_; }
  // Tries the next candidate. Returns false if none is left.
  bool next();
  // The repairs, the best first.
  std::vector<Repair> found() const;
  // The machine and the settings after the first repair of found(), which must not be empty.
  Edited withFirst() const;

 private:
  Edited with(const RepairCandidate& candidate) const;

  plan::PlanRequest request_;
  Settings settings_;
  plan::Plan before_;
  Scores scores_;
  std::vector<RepairCandidate> candidates_;
  std::vector<Repair> found_;
  int tried_ = 0;
};

// The search's outcome in the format `xylem-repair-1`.
nlohmann::ordered_json toJson(const RepairSearch& search, const std::string& machine);

}  // namespace xylem::whatif
