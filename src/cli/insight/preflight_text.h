#pragma once
// What `xylem preflight` tells people.
//
//   writeOut(preflightText(plan, result, screen));

#include <string>

#include "cli/terminal.h"
#include "insight/preflight/preflight.h"

namespace xylem::cli {

std::string preflightText(const Plan& plan, const Preflight& result, const Terminal& screen);

}  // namespace xylem::cli
