#include "cli/commands.h"

namespace xylem::cli {

void addRuntimeCommands(CommandLine& line) {
  addPerf(line);
  addRun(line);
  addStatus(line);
}

const char* const kRuntimeExamples =
    R"(  xylem perf all_reduce -p 4                  how fast collectives are here, and whether they are right
  xylem run -n 4 -- python3 train.py          a program on 4 ranks
  xylem status                                what running programs do, and what they wait for
)";

}  // namespace xylem::cli
