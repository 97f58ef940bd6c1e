#pragma once
// The commands that say what --help says in other forms: xylem man and xylem completion.

#include "cli/command.h"

namespace xylem::cli {

// `app` has to be there when the action runs.
void addPages(CLI::App& app, Action& action);

}  // namespace xylem::cli
