#pragma once
// The commands that change, repair, check and rewrite descriptions of machines.

#include "cli/command.h"

namespace xylem::cli {

void addLint(CLI::App& app, Action& action);
void addRepair(CLI::App& app, Action& action);
void addVm(CLI::App& app, Action& action);
void addWhatif(CLI::App& app, Action& action);

}  // namespace xylem::cli
