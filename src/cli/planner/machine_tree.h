#pragma once
// The machine as a tree: each CPU with what hangs below it, and the links that cross the tree.
//
//   writeOut(machineTree(document, system, terminalOf(stdout)));
//
//   CPU 0  Intel family 6 model 143, NUMA node 0, CPUs 0-15
//   |- PCI 48.0 - switch 0000:15:00.0  Broadcom c030
//   |  `- PCI 48.0 - GPU 0  0000:1b:00.0, dev 0, sm 90
//   |     `- NVL 370.8 - NVSwitch
//   `- SYS 10.0 - CPU 1

#include <string>

#include "cli/terminal.h"
#include "planner/topology/system.h"

namespace xylem::cli {

std::string machineTree(const Document& document, const System& system, const Terminal& screen);

}  // namespace xylem::cli
