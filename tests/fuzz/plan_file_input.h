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

inline const PlanFacts& soundPlan() {
  static const PlanFacts facts = [] {
    const PlanRequest request = identicalHosts(parseTopology(testing::twoGpusOneNic(), "sound.xml"), 2);
    return factsOf(planJob(request, Settings()), request);
  }();
  return facts;
}

inline bool feedPlanFile(std::string_view bytes) {
  try {
    const PlanFacts facts = factsOfJson(bytes, "input.json");
    const PlanDiff there = comparePlans(facts, soundPlan());
    const PlanDiff back = comparePlans(soundPlan(), facts);
    require(there.samePlan() == back.samePlan());
    require(comparePlans(facts, facts).machine.empty());
    require(!toJson(there, "input", "sound").dump(1, ' ', false, Json::error_handler_t::replace).empty());
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
