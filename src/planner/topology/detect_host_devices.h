#pragma once
// Host devices: the gpu elements that stand for computing on this machine's cores (planner/topology/detect.h says
// what they are).
//
//   addHostDevices(doc, cpus, pci, layout, 4);   // four of them, spread over the cores in blocks

#include "planner/topology/detect_pci.h"

namespace xylem {

// Adds max(count, one per core). Device i belongs to core i * cores / devices, so neighbouring devices share
// a node.
void addHostDevices(Document& document, CpuElements& cpus, PciTree& pci, const CpuLayout& layout, int count);

}  // namespace xylem
