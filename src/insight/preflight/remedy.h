#pragma once
// Settings under which all ranks of a job would agree, found by planning the job again with candidates: one
// setting if that is enough, two or three otherwise.
//
//   RemedySearch search = findRemedies(request, settings, plan);
//   search.found[0].settings   ->   {{"NCCL_ALGO", "^Tree"}}
//   search.found[0].times[Collective::kAllReduce][i], search.now[Collective::kAllReduce][i]   (microseconds)

#include <string>
#include <utility>
#include <vector>

#include "planner/plan/planner.h"

namespace xylem {

// By collective and costSizes(): the time that the slowest kind of rank predicts, in microseconds.
using PredictedTimes = ByCollective<std::vector<float>>;
std::vector<std::uint64_t> costSizes();

struct Remedy {
  std::vector<std::pair<std::string, std::string>> settings;
  PredictedTimes times;
  double slowdown = 1;  // geometric mean over sizes, of the collective that suffers most

  // "NCCL_ALGO=Ring NCCL_PROTO=Simple"
  std::string text() const;
};

struct RemedySearch {
  PredictedTimes now;
  std::vector<Remedy> found;  // the least slowdown first, few settings before many; at most kMostRemedies
  int tried = 0;
};
constexpr std::size_t kMostRemedies = 3;

// `plan` is that of `request` with `settings`.
RemedySearch findRemedies(const PlanRequest& request, const Settings& settings, const Plan& plan);

}  // namespace xylem
