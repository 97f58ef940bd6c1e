#pragma once
// GPUs of a machine: their `gpu` elements in the PCI tree, with NVLinks and chip-to-chip links.
//
//   for (const GpuFacts& gpu : source.read().gpus) addGpu(doc, pci, gpu);
//
// What a topology file says of a GPU stays as it is.

#include "planner/topology/detect_gpu_source.h"
#include "planner/topology/detect_pci.h"

namespace xylem {

// PCI classes that begin so are of GPUs.
constexpr const char* kGpuClass = "0x03";

// Returns the gpu element. `rank` becomes its rank.
ElementId addGpu(Document& document, PciTree& pci, const GpuFacts& facts, int rank);

}  // namespace xylem
