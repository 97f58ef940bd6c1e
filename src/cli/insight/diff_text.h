#pragma once
// A comparison of two plans as text: first the causes, then their effects. Leaves out sections without a
// change and cuts long lists.
//
//   writeOut(diffText(comparePlans(a, b), a, b, {.all = false}, terminalOf(stdout)));

#include <string>

#include "cli/terminal.h"
#include "insight/diff/diff.h"

namespace xylem::cli {

struct DiffView {
  bool all = false;  // cut no lists
};

std::string diffText(const diff::PlanDiff& diff, const diff::PlanFacts& a, const diff::PlanFacts& b,
                     const DiffView& view, const Terminal& screen);

}  // namespace xylem::cli
