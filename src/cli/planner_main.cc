// The command `xylem-planner`: plan, tune, show, detect and settings alone. It compiles in a third of the
// time of `xylem`, and links no sockets and no threads.
#include "cli/commands.h"

int main(int argc, char** argv) {
  namespace cli = xylem::cli;
  cli::CommandLine line = cli::xylemCommandLine(cli::kPlannerExamples);
  cli::addPlannerCommands(line, nullptr);
  cli::addPages(line);
  return cli::runCommandLine(line, argc, argv);
}
