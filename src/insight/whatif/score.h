#pragma once
// Numbers that say how good a plan is, to compare machines or settings.
//
//   const Scores before = scoresOf(plan);
//   before[0]   ->   GB/s of the first of scoreKinds(), by which repairs are ranked
//   toJson(before, after)["ringGBps"]["after"]   ->   384.0
//
// To add a number, add a row to the table in score.cc: repairs are compared by it after those before it, and
// the command prints a column for it.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::whatif {

struct ScoreKind {
  const char* key;                       // in JSON
  const char* title;                     // of a column
  double (*of)(const plan::Plan& plan);  // GB/s; more is better
};
std::span<const ScoreKind> scoreKinds();

// A number for each of scoreKinds().
using Scores = std::vector<double>;
Scores scoresOf(const plan::Plan& plan);

// By key: the score alone, or the scores of two plans.
nlohmann::ordered_json toJson(const Scores& scores);
nlohmann::ordered_json toJson(const Scores& before, const Scores& after);

}  // namespace xylem::whatif
