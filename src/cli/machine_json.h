#pragma once
// A machine as JSON: its nodes, links and paths, in the engine's order and with the field names of `xylem
// plan
// --json`.
//
//   writeOut(machineJson(document, system, paths));

#include <string>

#include "paths/path_table.h"

namespace xylem::cli {

std::string machineJson(const Document& document, const System& system, const PathTable& paths);

}  // namespace xylem::cli
