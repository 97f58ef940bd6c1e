#pragma once
// Names and short descriptions of a machine's nodes.
//
//   nodeLabel(system, gpu)             ->   "GPU 0"
//   nodeDetail(document, system, gpu)  ->   "0000:1b:00.0, dev 0, sm 90, GPU Direct RDMA"

#include <string>
#include <string_view>

#include "planner/topology/system.h"

namespace xylem::cli {

// "GPU 0" (its rank), "NET 3" (its dev), "CPU 1" (its NUMA node), "switch 0000:15:00.0". In a description of
// several hosts all nodes but GPUs and NVSwitches carry their host: "NET 3@1".
std::string nodeLabel(const topology::System& system, topology::NodeId node);
// The same without the blank, short enough for a table's head: "GPU0", "NET3@1".
std::string shortLabel(const topology::System& system, topology::NodeId node);
// Facts from the node's element of the description; may be empty.
std::string nodeDetail(const topology::Document& document, const topology::System& system,
                       topology::NodeId node);

// The machine's parts: "8 GPUs, 8 NETs, 8 PCI switches, 1 NVSwitch, 2 CPUs".
std::string inventory(const topology::System& system);

// A kernel's CPU mask as ranges: "00000000,0000ff0f" -> "0-3,8-15". Returns text that is no mask unchanged.
std::string cpuRanges(std::string_view mask);

}  // namespace xylem::cli
