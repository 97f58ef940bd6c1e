#pragma once
// Tells in what an upgrade of NCCL changes the plan of a job, and by which of its changes.
//
//   Upgrade upgrade = upgradeOf(request, settings, {2, 25, 1}, {2, 27, 7});
//   for (const rules::Change* change : upgrade.causes) ... change->name, change->back ...
//
// The causes are the fewest changes, found by leaving out as many as possible, that lead from the old version's plan to exactly
// that of the new one; those of a part of the plan are the fewest of these that lead to that part alone.

#include <string>
#include <vector>

#include "planner/plan/planner.h"
#include "planner/rules/changes.h"

namespace xylem::upgrade {

// The predicted time of an AllReduce before and after, in microseconds.
struct SizeTimes {
  std::uint64_t bytes = 0;
  double before = 0, after = 0;
};

// A part of the plan that differs: `rings`, `trees`, `NICs`, `choice` etc.
struct PartCauses {
  std::string part;
  std::vector<const rules::Change*> causes;
};

struct Upgrade {
  bool differs = false;
  std::vector<const rules::Change*> causes;  // in the order of the table of changes
  std::vector<rules::Version>
      steps;  // if asked for: the known versions on the way that plan otherwise than the one before
  std::vector<PartCauses> parts;
  std::vector<SizeTimes> times;  // small, medium and large; none for a rank alone
  // Why a version cannot plan the job; empty if it can.
  std::string errorBefore, errorAfter;
};

// `withSteps`: plans for all versions on the way, too (Upgrade::steps). `request.nccl` does not matter. Throws InputError for a description that no version can plan.
Upgrade upgradeOf(const plan::PlanRequest& request, const Settings& settings, const rules::Version& from,
                  const rules::Version& to, bool withSteps = false);

}  // namespace xylem::upgrade
