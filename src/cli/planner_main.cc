// The command `xylem-planner`: plan, tune, show, detect and settings alone. It compiles in a third of the time of
// `xylem`, and links no sockets and no threads.
#include "cli/commands.h"
#include "cli/entry_point.h"

int main(int argc, char** argv) {
  using namespace xylem::cli;
  CommandLine line = xylemCommandLine(kPlannerExamples);
  addPlannerCommands(line, nullptr);
  addPages(line);
  return runCommandLine(line, argc, argv);
}
