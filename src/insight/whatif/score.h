#pragma once
// How good a plan is, in numbers that can be compared between two machines or settings.
//
//   const Scores before = scoresOf(plan);
//   before[0]   ->   GB/s of the first of scoreKinds(), by which repairs are ranked
//
// A further number is a row in score.cc: repairs are then compared by it, too, after those before it, and the
// command shows it in a column of its own.

#include <span>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem {

struct ScoreKind {
  const char* key;                 // in JSON
  const char* title;               // of a column
  double (*of)(const Plan& plan);  // GB/s; more is better
};
std::span<const ScoreKind> scoreKinds();

// By scoreKinds().
using Scores = std::vector<double>;
Scores scoresOf(const Plan& plan);

}  // namespace xylem
