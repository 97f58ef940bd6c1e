#pragma once
// What main() does with a command line: parses it, runs the chosen action, and turns what goes wrong into one line on
// standard error and an exit status.

#include <string>

#include "cli/command_line.h"

namespace xylem::cli {

// The line without commands; `examples` stand in its help.
CommandLine xylemCommandLine(const std::string& examples);

// Returns the exit status. From then on, writing to a closed pipe or socket fails with EPIPE in this process.
int runCommandLine(CommandLine& line, int argc, char** argv);

}  // namespace xylem::cli
