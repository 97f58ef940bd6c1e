#pragma once
// Makes a captured machine from a page of text, the recipe: the facts of its kernel and its GPUs without the
// thousands of files that hold them.
//
//   CapturedMachine machine;
//   buildMachine(machine, readMachineFile("two-sockets-with-switches", ".txt"));
//   const auto gpus = gpuSourceOf(machine.root());
//   detectTopology({.root = machine.root(), .gpus = gpus.get()});
//
// A line describes one thing, with its properties as key=value. A device stands below its bridge, indented by
// two more blanks. `#` starts a comment.
//
//   cpus nodes=2 cores=2                    two NUMA nodes of two cores each
//   cpuinfo vendor_id=GenuineIntel "cpu family=6" model=143
//   pci0000:15                              a root of the PCI tree
//     0000:15:01.0 link=32x16               a bridge: 32.0 GT/s PCIe, 16 lanes
//       0000:1b:00.0 class=0x030200 id=10de:2330:10de:16c1 link=32x16 numa=0
//   rdma mlx5_0 on=0000:18:00.0 guid=… "rate=400 Gb/sec (4X NDR)" port=1 layer=InfiniBand
//   verbs name=mlx5_0 direct=0000:05:00.0   as `rdma` in the file of facts about RDMA devices; likewise port
//   net eth0 on=0000:19:00.0 index=2 speed=25000
//   gpu dev=0 busid=0000:1b:00.0 sm=90      as in the file of GPU facts; likewise pci, nvlink and c2c
//   file proc/driver/nvidia/version text    any other file

#include <string>

#include "planner/topology/captured_machine.h"

namespace xylem::testing {

void buildMachine(CapturedMachine& machine, const std::string& recipe);

// The text of tests/planner/topology/machines/NAME.EXTENSION.
std::string readMachineFile(const std::string& name, const std::string& extension);

}  // namespace xylem::testing
