#pragma once
// The rules by which tests plan whose numbers were worked out by hand: those of NCCL 2.25.1, the oldest that Xylem knows.
//
//   const System system = buildSystem(document, rules225());
//   const Plan plan = planJob(request, settings225());

#include <map>
#include <memory>
#include <string>

#include "core/settings.h"
#include "planner/rules/changes.h"

namespace xylem::testing {

inline const std::shared_ptr<const rules::RuleSet>& rules225() {
  static const auto kRules = rules::rulesOf({2, 25, 1});
  return kRules;
}

// These variables, and the one that asks for 2.25.1.
inline Settings settings225(std::map<std::string, std::string> pairs = {}) {
  pairs["XYLEM_NCCL"] = "2.25.1";
  return Settings::fromPairs(pairs);
}

}  // namespace xylem::testing
