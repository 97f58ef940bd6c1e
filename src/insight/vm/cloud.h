#pragma once
// The well-known instance types of clouds, by the devices that a virtual machine sees. Their GPUs and NICs
// belong together in order, some of each below a PCI switch that the virtual machine does not see.
//
//   if (const CloudInstance* cloud = cloudInstanceOf(document)) ... cloud->name, cloud->nets ...

#include <cstdint>

#include "planner/topology/document.h"

namespace xylem::vm {

struct GpuModel {
  std::uint64_t device;  // PCI device id; the vendor is NVIDIA
  const char* sm;        // compute capability, as descriptions have it
};

struct CloudInstance {
  const char* name;
  GpuModel gpu;
  std::uint64_t netVendor;  // PCI vendor id of its NICs
  int gpus, nets;
};

// Null if the machine's numbers of GPUs and NICs, their PCI ids or the GPUs' compute capability are not those of an instance
// type.
const CloudInstance* cloudInstanceOf(const topology::Document& document);

}  // namespace xylem::vm
