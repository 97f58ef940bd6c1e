// The command `xylem`, with all of its subcommands.
#include "cli/calibrate/calibrate.h"
#include "cli/commands.h"
#include "cli/entry_point.h"

int main(int argc, char** argv) {
  using namespace xylem::cli;
  CommandLine line = xylemCommandLine(std::string(kPlannerExamples) + kInsightExamples + kRuntimeExamples);
  addPlannerCommands(line, runCalibration);
  addInsightCommands(line);
  addRuntimeCommands(line);
  addPages(line);
  return runCommandLine(line, argc, argv);
}
