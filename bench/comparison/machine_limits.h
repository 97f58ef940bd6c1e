#pragma once
// What this machine can do at the moment, whatever the operation: copying, adding, reading another process's
// memory. For the head of a report, beside the limits of single operations, which are contenders.

#include <string>
#include <vector>

#include "comparison/core_pair.h"

namespace xylem::bench {

struct MachineLimit {
  std::string name;  // "add 64 MiB, streaming, both cores"
  double value = 0;
  std::string unit;  // "GB/s" of what is read and written by all cores together, or "ns"
};

// Medians of a few runs; takes about a second, a tenth of it if `quick`.
std::vector<MachineLimit> measureMachine(CorePair& pair, bool quick);

}  // namespace xylem::bench
