#pragma once
// Names and short descriptions of a machine's nodes for people.
//
//   nodeLabel(system, gpu)           -> "GPU 0"
//   nodeDetail(document, system, gpu) -> "0000:1b:00.0, sm 90, dev 0, GPU Direct RDMA"

#include <string>
#include <string_view>

#include "planner/topology/system.h"

namespace xylem::cli {

// "GPU 0" (its rank), "NET 3" (its dev), "CPU 1" (its NUMA node), "switch 0000:15:00.0". In descriptions of
// several hosts what is not a GPU carries its host: "NET 3@1".
std::string nodeLabel(const System& system, NodeId node);
// The same without the blank and short enough for a table's head: "GPU0", "NET3@1".
std::string shortLabel(const System& system, NodeId node);
// What the description tells about it; may be empty.
std::string nodeDetail(const Document& document, const System& system, NodeId node);

// "2 CPUs", "1 GPU".
std::string counted(int count, std::string_view singular);
// What the machine consists of: "8 GPUs, 8 NETs, 8 PCI switches, 1 NVSwitch, 2 CPUs".
std::string inventory(const System& system);

// A kernel's CPU mask as ranges: "00000000,0000ff0f" -> "0-3,8-15". Text that is no mask comes back as it is.
std::string cpuRanges(std::string_view mask);

}  // namespace xylem::cli
