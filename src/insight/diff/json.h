#pragma once
// A comparison as JSON, in the format `xylem-diff-1`: what `xylem diff --json` prints.
//
//   writeOut(diffToJson(comparePlans(a, b), a.title, b.title) + "\n");

#include <string>

#include "insight/diff/diff.h"

namespace xylem {

// A section per member of PlanDiff, left out where nothing changed. Times' ratios are after by before.
std::string diffToJson(const PlanDiff& diff, const std::string& a, const std::string& b);

}  // namespace xylem
