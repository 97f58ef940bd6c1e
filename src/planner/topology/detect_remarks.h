#pragma once
// What a person should know about a detected machine: why something is missing or lies farther away than it
// should, and what NCCL itself would stumble over.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "planner/topology/detect_net_device.h"
#include "planner/topology/document.h"

namespace xylem {

// NVIDIA devices on the PCI bus that no source of GPU facts told about.
void remarkUnknownGpus(const std::filesystem::path& root, std::vector<std::string>& remarks);

// Bus ids in capitals: NCCL looks for small letters and so never finds these elements of a file.
void remarkCapitals(const Document& file, std::vector<std::string>& remarks);

// Cards that NCCL takes for virtual functions of one because they share a PCI bus, as in virtual machines.
void remarkSharedCards(std::span<const NetDevice> devices, std::vector<std::string>& remarks);

// Devices without a NUMA node, and descriptions too large for NCCL. `elements` counts those of a rank before
// it leaves out what it does not use.
void remarkOnOutcome(const Document& machine, std::size_t elements, std::vector<std::string>& remarks);

}  // namespace xylem
