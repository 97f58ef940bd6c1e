#pragma once
// Groups the network devices with the GPUs of a machine that does not show where they belong. Hypervisors often hang all
// devices directly at the CPUs, so that no NIC is near any GPU. Machines with several GPUs and NICs have them
// in groups below PCI switches; the groups follow the order of the devices.
//
//   for (const PairedGroup& group : pairedGroups(document, devices.gpus(), devices.nets()))
//     ... group.gpus, group.nets ...     // 8 GPUs and 4 NICs: 4 groups of 2 GPUs and a NIC
//
//   isFlat(document)   ->   true: no switch holds a GPU and a NIC

#include <vector>

#include "planner/topology/document.h"

namespace xylem::whatif {

struct PairedGroup {
  std::vector<topology::ElementId> gpus, nets;  // gpu and net elements
};

// Pairs within each CPU if every CPU that holds NICs holds GPUs, too; else the NICs over all GPUs. There are
// as many groups as the fewer of GPUs and NICs, and each has about as many of the others, in order.
std::vector<PairedGroup> pairedGroups(const topology::Document& document,
                                      const std::vector<topology::ElementId>& gpus,
                                      const std::vector<topology::ElementId>& nets);

// True if a PCI switch holds a GPU and a NIC.
bool showsPairs(const topology::Document& document);
// True if the machine has several GPUs and NICs, and no PCI switch holds one of each.
bool isFlat(const topology::Document& document);

}  // namespace xylem::whatif
