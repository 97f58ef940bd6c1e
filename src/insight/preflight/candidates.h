#pragma once
// Settings worth trying where the ranks of a job disagree: those that take away what they disagree about, or
// give all of them what the least of them has.

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem {

// From which stage of the planner on a setting changes the plan.
enum class Touches : std::uint8_t { kTuning, kConnections, kSearch };

struct CandidateSetting {
  Setting setting;
  std::string value;
  Touches touches = Touches::kTuning;
};

std::vector<CandidateSetting> candidateSettings(const Plan& plan);

}  // namespace xylem
