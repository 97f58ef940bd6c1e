#pragma once
// Finds settings under which all ranks of a job would agree, by planning the job again with candidates: sets
// of one or two settings, and of three only if no smaller set helps.
//
//   RemedySearch search = findRemedies(request, settings, plan);
//   search.found[0].settings   ->   {{"NCCL_ALGO", "^Tree"}}
//   search.found[0].times[Collective::kAllReduce][i], search.now[Collective::kAllReduce][i]   (microseconds)

#include <string>
#include <utility>
#include <vector>

#include "planner/plan/planner.h"

namespace xylem::preflight {

// By collective and size (costSizes()): the greatest time that any kind of rank predicts, in microseconds.
using PredictedTimes = ByCollective<std::vector<float>>;
std::vector<std::uint64_t> costSizes();

struct Remedy {
  std::vector<std::pair<std::string, std::string>> settings;
  PredictedTimes times;
  double slowdown = 1;  // of the worst collective: geometric mean over sizes

  // "NCCL_ALGO=Ring NCCL_PROTO=Simple"
  std::string text() const;
};

struct RemedySearch {
  PredictedTimes now;
  std::vector<Remedy> found;  // by slowdown and number of settings, at most kMaxRemedies
  int tried = 0;              // sets of settings
};
constexpr std::size_t kMaxRemedies = 3;

// `plan` has to be the plan of `request` with `settings`.
RemedySearch findRemedies(const plan::PlanRequest& request, const Settings& settings, const plan::Plan& plan);

}  // namespace xylem::preflight
