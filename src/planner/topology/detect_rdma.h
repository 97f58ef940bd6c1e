#pragma once
// RDMA devices (InfiniBand, RoCE, EFA) of a machine from sysfs, as NCCL's InfiniBand transport describes
// them: one network device per active port.
//
//   for (const NetDevice& port : rdmaDevices("/", {})) ... port.name, port.speed ...
//
// The ports of a card that shows itself as several PCI functions (0000:3b:00.0, 0000:3b:00.1) count as ports
// of its first function, and so do its virtual functions (0000:3b:00.5, 0000:3b:01.2).

#include <filesystem>
#include <string>

#include "planner/topology/detect_net.h"

namespace xylem::topology {

struct RdmaOptions {
  bool disable = false;        // NCCL_IB_DISABLE
  std::string hca;             // NCCL_IB_HCA: "mlx5" prefix, "=mlx5_0:1" exact, "^mlx5_3" all but these
  bool mergeFunctions = true;  // NCCL_IB_MERGE_VFS
  bool byBusId = false;  // in the order of PCI bus ids, as newer versions without NCCL_IB_DEVICE_PCI_ORDER=0
  bool namesPlaces = false;  // NCCL_IB_HCA tells rails and planes, to newer versions
};

struct VerbsInterface {
  std::string name;    // uverbs0
  std::string device;  // mlx5_0
};

// The verbs interfaces that programs may open, in the order in which the kernel found the devices.
std::vector<VerbsInterface> verbsInterfaces(const std::filesystem::path& root);

std::vector<NetDevice> rdmaDevices(const std::filesystem::path& root, const RdmaOptions& options);

}  // namespace xylem::topology
