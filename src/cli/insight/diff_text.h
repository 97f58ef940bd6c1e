#pragma once
// A comparison of two plans for people: what changed, then what followed from it; sections in which nothing
// changed are left out, and long lists are cut.
//
//   writeOut(diffText(comparePlans(a, b), a, b, {.all = false}, terminalOf(stdout)));

#include <string>

#include "cli/terminal.h"
#include "insight/diff/diff.h"

namespace xylem::cli {

struct DiffView {
  bool all = false;  // cut nothing
};

std::string diffText(const PlanDiff& diff, const PlanFacts& a, const PlanFacts& b, const DiffView& view,
                     const Terminal& screen);

}  // namespace xylem::cli
