#pragma once
// One input of the fuzzer of plan files, also run over the corpus by tests/insight/diff/diff_test.cc:
// whatever the bytes are, reading them as a plan and comparing that with the plan of a small machine either
// works or throws InputError.
//
//   feedPlanFile(bytes);   // true if it was a plan

#include <string_view>

#include "fuzz/require.h"
#include "insight/diff/diff.h"
#include "planner/plan/json_value.h"
#include "planner_support/machine_text.h"

namespace xylem {

inline const diff::PlanFacts& soundPlan() {
  static const diff::PlanFacts facts = [] {
    const plan::PlanRequest request =
        plan::identicalHosts(topology::parseTopology(testing::twoGpusOneNic(), "sound.xml"), 2);
    return diff::factsOf(plan::planJob(request, Settings()), request);
  }();
  return facts;
}

inline bool feedPlanFile(std::string_view bytes) {
  try {
    const diff::PlanFacts facts = diff::factsOfJson(bytes, "input.json");
    const diff::PlanDiff there = diff::comparePlans(facts, soundPlan());
    const diff::PlanDiff back = diff::comparePlans(soundPlan(), facts);
    require(there.samePlan() == back.samePlan());
    require(diff::comparePlans(facts, facts).machine.empty());
    require(!diff::toJson(there, "input", "sound")
                 .dump(1, ' ', false, plan::Json::error_handler_t::replace)
                 .empty());
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
