#pragma once
// What a JobPlan of the public header (include/xylem/plan.h) holds: its members live in the rooms that know
// the answers.

#include "core/error.h"
#include "core/settings.h"
#include "planner/plan/planner.h"
#include "xylem/plan.h"

namespace xylem {

struct JobPlan::State {
  // What was asked, for questions that plan again.
  PlanRequest request;
  Settings settings;
  Plan plan;

  // `listed`: the hosts one by one, rather than as N of one kind.
  static std::unique_ptr<State> of(const std::vector<HostRequest>& hosts, bool listed,
                                   const PlanOptions& options);
};

// Whatever goes wrong inside becomes the one error that the header knows.
template <typename Make>
auto guarded(const Make& make) try {
  return make();
} catch (const Error& error) {
  throw PlanError(error.what());
}

}  // namespace xylem
