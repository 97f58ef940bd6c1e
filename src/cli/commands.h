#pragma once
// The subcommands of `xylem`, and what main() does with them. A new subcommand gets a file with a function
// addNAME(CommandLine&), of which command_line.h shows an example, a declaration here, and a line in main.cc
// (or, if the planner is all that it needs, in entry_point.cc).
//
//   CommandLine line = xylemCommandLine(kPlannerExamples);
//   addPlannerCommands(line, nullptr);
//   addPages(line);
//   return runCommandLine(line, argc, argv);

#include <string>

#include "cli/command_line.h"

namespace xylem::cli {

// The command line of `xylem`, still without subcommands; `examples` stand in its help.
CommandLine xylemCommandLine(const std::string& examples);

// Parses the arguments and runs the chosen action. An error becomes one line on standard error. Returns the
// exit status. From then on, writing to a closed pipe or socket fails with EPIPE in this process.
int runCommandLine(CommandLine& line, int argc, char** argv);

struct CalibrationOptions {
  int rounds = 11;
  bool json = false;
};
using Calibrate = int (*)(const CalibrationOptions&);

// The subcommands that only need the planner, shared by `xylem` and `xylem-planner`. `calibrate` runs
// `xylem tune --calibrate`, which measures with the runtime; without it (null) there is no such option.
void addPlannerCommands(CommandLine& line, Calibrate calibrate);
extern const char* const kPlannerExamples;

// man, completion, help and version. `line` must outlive the action.
void addPages(CommandLine& line);

// cli/planner/
void addDetect(CommandLine& line);
void addPlan(CommandLine& line);
void addSettings(CommandLine& line);
void addShow(CommandLine& line);
void addTune(CommandLine& line, Calibrate calibrate);
void addVersions(CommandLine& line);
void addZoo(CommandLine& line);

// cli/insight/
void addDiff(CommandLine& line);
void addDraw(CommandLine& line);
void addLint(CommandLine& line);
void addOptimize(CommandLine& line);
void addOrder(CommandLine& line);
void addPreflight(CommandLine& line);
void addRepair(CommandLine& line);
void addUpgrade(CommandLine& line);
void addVm(CommandLine& line);
void addWhatif(CommandLine& line);
void addWhy(CommandLine& line);

// cli/perf/, cli/run/, cli/status/
void addPerf(CommandLine& line);
void addRun(CommandLine& line);
void addStatus(CommandLine& line);

// cli/calibrate/: measures this machine and prints the XYLEM_HOST_MODEL that describes it. Returns the exit
// status.
int runCalibration(const CalibrationOptions& options);

}  // namespace xylem::cli
