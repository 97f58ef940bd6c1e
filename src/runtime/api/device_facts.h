#pragma once
// What the machine says about itself to programs that ask about a device.
//
//   machineMemory().total

#include <cstddef>

#include "host/cuda_runtime.h"

namespace xylem {

struct MachineMemory {
  std::size_t available = 0;  // bytes
  std::size_t total = 0;
};
MachineMemory machineMemory();

// Made up, for programs that tell devices apart by it: domain ffff, where no real device is, and the number
// of the device as bus and slot.
struct PciPlace {
  int domain = 0xffff;
  int bus = 0;
  int slot = 0;
};
PciPlace pciPlaceOf(int device);

cudaDeviceProp propertiesOf(int device);

}  // namespace xylem
