#include "cli/commands.h"

namespace xylem::cli {

void addInsightCommands(CommandLine& line) {
  addPreflight(line);
  addOrder(line);
  addDiff(line);
  addWhy(line);
  addDraw(line);
  addWhatif(line);
  addRepair(line);
  addLint(line);
  addVm(line);
  addOptimize(line);
}

const char* const kInsightExamples =
    R"(  xylem why dgxh100.xml gdr gpu0 nic3         the reason for a decision
  xylem draw dgxh100.xml -o report.html       a page with all of it, to look at
  xylem preflight --host a.xml:2 --host b.xml
                                              would a job on different hosts hang
  xylem order dgxh100.xml --nodes 16 --fabric fabric.txt
                                              which order of hosts spares the network
  xylem diff old.xml new.xml --nodes 2        what a change leads to
  xylem whatif dgxh100.xml --nodes 2 'remove net1'
                                              what would follow from a change
  xylem repair vm.xml --nodes 2               which single change would help most
  xylem lint vm.xml                           what is wrong with a topology file
  xylem vm --host host.xml --guest-map vm.map -o vm.xml
                                              the topology file of a virtual machine
  xylem optimize dgxh100.xml -o graph.xml     the best channels, as a graph file for NCCL
)";

}  // namespace xylem::cli
