#pragma once
// The topology file of a virtual machine, made from its host's. A hypervisor shows a virtual machine another
// PCI tree than the host's, often none. This file has the host's tree, with the devices that were passed
// through and the bus ids that they have inside; NCCL reads it as NCCL_TOPO_FILE.
//
//   const VmMap map = readVmMap("vm.map");
//   const Document vm = vmTopology(readTopology("host.xml"), map, &remarks);
//   writeFile("vm.xml", writeTopology(vm));
//
// The map has a line for each device: its name on the host, then its bus id and, if it differs, its name
// inside.
//
//   # host        inside        name inside
//   0000:1b:00.0  0000:05:00.0
//   mlx5_0        0000:06:00.0  mlx5_3
//   gpu3=0000:07:00.0
//   numa1         numa0
//
// A device of the host is named by its bus id, as gpuN (the gpu with dev N), or by the name of its network
// device. A line for `numaN` gives the virtual machine's number of that NUMA node, and in a third word the
// mask of its CPUs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/topology/document.h"

namespace xylem::vm {

struct VmDevice {
  std::string host;         // as the map writes it
  std::uint64_t busId = 0;  // inside the virtual machine
  std::string name;         // of the network device inside; empty: not given
  int line = 0;
};

struct VmNuma {
  int host = 0, inside = 0;  // the number of the NUMA node on the host, and inside
  std::string affinity;      // empty: not given
  int line = 0;
};

struct VmMap {
  std::string file;
  std::vector<VmDevice> devices;
  std::vector<VmNuma> numas;
};

// Both throw InputError with file and line.
VmMap parseVmMap(std::string_view text, const std::string& file);
VmMap readVmMap(const std::string& path);

// The description of the virtual machine. Switches get bus ids that no machine has. NVLinks to GPUs outside
// of it are left out. NUMA nodes are numbered anew unless the map numbers them, and the masks of their CPUs
// are left out unless the map gives them, since they are others than on the host. GPUs are numbered by their
// bus id inside, as the driver does.
//
// Adds to `remarks` what the user should check. Throws InputError with the line of the map for a device that
// the host does not have.
topology::Document vmTopology(const topology::Document& host, const VmMap& map,
                              std::vector<std::string>* remarks = nullptr);

}  // namespace xylem::vm
