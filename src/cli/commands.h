#pragma once
// The subcommands of `xylem`, in three families by what they need. A new subcommand gets a file with a function
// addNAME(CommandLine&), of which command_line.h shows an example, and a line in the file family.cc beside it.

#include <string>

#include "cli/command_line.h"

namespace xylem::cli {

struct CalibrationOptions;
using Calibrate = int (*)(const CalibrationOptions&);

// What NCCL would do: the planner is all they need. `calibrate` runs `xylem tune --calibrate`, which measures with the
// runtime; null: that option does not exist.
void addPlannerCommands(CommandLine& line, Calibrate calibrate);
extern const char* const kPlannerExamples;

// Why, what if, and how to do better.
void addInsightCommands(CommandLine& line);
extern const char* const kInsightExamples;

// Commands that start ranks, or look at running ones.
void addRuntimeCommands(CommandLine& line);
extern const char* const kRuntimeExamples;

// xylem man and xylem completion: what --help says, in other forms. `line` has to live until the action has run.
void addPages(CommandLine& line);

// cli/planner/
void addDetect(CommandLine& line);
void addPlan(CommandLine& line);
void addSettings(CommandLine& line);
void addShow(CommandLine& line);
void addTune(CommandLine& line, Calibrate calibrate);

// cli/insight/
void addDiff(CommandLine& line);
void addDraw(CommandLine& line);
void addLint(CommandLine& line);
void addOptimize(CommandLine& line);
void addOrder(CommandLine& line);
void addPreflight(CommandLine& line);
void addRepair(CommandLine& line);
void addVm(CommandLine& line);
void addWhatif(CommandLine& line);
void addWhy(CommandLine& line);

// cli/perf/, cli/run/, cli/status/
void addPerf(CommandLine& line);
void addRun(CommandLine& line);
void addStatus(CommandLine& line);

}  // namespace xylem::cli
