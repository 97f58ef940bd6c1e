// The command `xylem`, with all of its subcommands.
#include <cstdio>
#include <new>

#include "cli/commands.h"

namespace {

constexpr const char* kInsightExamples =
    R"(  xylem why dgxh100.xml gdr gpu0 nic3         the reason for a decision
  xylem draw dgxh100.xml -o report.html       a page with all of it, to look at
  xylem preflight --host a.xml:2 --host b.xml
                                              would a job on different hosts hang
  xylem order dgxh100.xml --nodes 16 --fabric fabric.txt
                                              which order of hosts spares the network
  xylem diff old.xml new.xml --nodes 2        what a change leads to
  xylem upgrade dgxh100.xml --from 2.25.1 --to 2.30.7
                                              what an upgrade of NCCL changes, and why
  xylem whatif dgxh100.xml --nodes 2 'remove net1'
                                              what would follow from a change
  xylem repair vm.xml --nodes 2               which single change would help most
  xylem lint vm.xml                           what is wrong with a topology file
  xylem vm --host host.xml --guest-map vm.map -o vm.xml
                                              the topology file of a virtual machine
  xylem optimize dgxh100.xml -o graph.xml     the best channels, as a graph file for NCCL
)";

constexpr const char* kRuntimeExamples =
    R"(  xylem perf all_reduce -p 4                  how fast collectives are here, and whether they are right
  xylem run -n 4 -- python3 train.py          a program on 4 ranks
  xylem status                                what running programs do, and what they wait for
)";

}  // namespace

int main(int argc, char** argv) try {
  namespace cli = xylem::cli;
  cli::CommandLine line =
      cli::xylemCommandLine(std::string(cli::kPlannerExamples) + kInsightExamples + kRuntimeExamples);
  // The order of the subcommands in the help.
  cli::addPlannerCommands(line, cli::runCalibration);
  for (const auto add : {cli::addPreflight, cli::addOrder, cli::addDiff, cli::addUpgrade, cli::addWhy,
                         cli::addDraw, cli::addWhatif, cli::addRepair, cli::addLint, cli::addVm,
                         cli::addOptimize, cli::addPerf, cli::addRun, cli::addStatus, cli::addPages})
    add(line);
  return cli::runCommandLine(line, argc, argv);
} catch (const std::bad_alloc&) {  // so little memory that the commands cannot even be listed
  std::fputs("xylem: out of memory (ulimit -v)\n", stderr);
  return xylem::cli::kFailed;
}
