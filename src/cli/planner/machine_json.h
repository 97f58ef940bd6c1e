#pragma once
// A machine as JSON: its nodes, links and paths, as the `host` section of `xylem plan --json` has them.
//
//   writeOut(machineJson(document, system, paths));

#include <string>

#include "planner/paths/path_table.h"

namespace xylem::cli {

std::string machineJson(const Document& document, const System& system, const PathTable& paths);

}  // namespace xylem::cli
