#pragma once
// Measures what the machine can do at the moment in general: copying, adding, reading another process's
// memory. They stand at the head of a report; limits of single operations are contenders.

#include <string>
#include <vector>

#include "comparison/core_pair.h"

namespace xylem::bench {

struct MachineLimit {
  std::string name;  // "add 64 MiB, streaming, both cores"
  double value = 0;
  std::string unit;  // "GB/s", read and written by all cores together, or "ns"
};

// Medians of a few runs. Takes about a second, a tenth of it if `quick`.
std::vector<MachineLimit> measureMachine(CorePair& pair, bool quick);

}  // namespace xylem::bench
