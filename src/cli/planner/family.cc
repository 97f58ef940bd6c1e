#include "cli/commands.h"

namespace xylem::cli {

void addPlannerCommands(CommandLine& line, Calibrate calibrate) {
  addPlan(line);
  addTune(line, calibrate);
  addShow(line);
  addDetect(line);
  addSettings(line);
}

const char* const kPlannerExamples =
    R"(  xylem show                                  this machine: nodes, links, how far apart
  xylem plan dgxh100.xml --nodes 16           what NCCL would do on 16 such hosts
  xylem tune dgxh100.xml --nodes 16           algorithm, protocol and time per message size
  xylem detect -o node.xml                    this machine as topology XML
  xylem settings --set-only                   which NCCL_* variables are set, and where
)";

}  // namespace xylem::cli
