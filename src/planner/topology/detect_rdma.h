#pragma once
// RDMA devices (InfiniBand, RoCE, EFA) of a machine from sysfs, as NCCL's InfiniBand transport describes
// them: one network device per active port.
//
//   for (const NetDevice& port : rdmaDevices("/", {})) ... port.name, port.speed ...
//
// The ports of a card that shows itself as several PCI functions (0000:3b:00.0, 0000:3b:00.1) count as ports
// of its first function, and so do its virtual functions (0000:3b:00.5, 0000:3b:01.2). A card that has a data-direct PCI device,
// beside the GPU, can be a device of that place, too: `mlx5_0_dma`.

#include <filesystem>
#include <string>

#include "planner/topology/detect_net.h"
#include "planner/topology/detect_verbs.h"

namespace xylem::topology {

struct RdmaOptions {
  bool disable = false;        // NCCL_IB_DISABLE
  std::string hca;             // NCCL_IB_HCA: "mlx5" prefix, "=mlx5_0:1" exact, "^mlx5_3" all but these
  bool mergeFunctions = true;  // NCCL_IB_MERGE_VFS
  bool portsShareCard = true;  // by newer rules; before, each port hangs on its own PCI function
  bool byBusId = false;  // in the order of PCI bus ids, as newer versions without NCCL_IB_DEVICE_PCI_ORDER=0
  bool namesPlaces = false;  // NCCL_IB_HCA tells rails and planes, to newer versions
  // The facts that the libraries for RDMA tell; null: none, and the next three options do nothing.
  const RdmaFactSource* facts = nullptr;
  int dataDirect =
      0;  // NCCL_IB_DATA_DIRECT, to newer versions: 1 describes data-direct devices alone, 2 both
  bool directNeedsDmaBuf = false;  // only a card that takes DMA-BUF has a data-direct device
  bool asksSpeed = false;          // NCCL_IB_QUERY_PORT_SPEED, to newer versions: the library's speeds count
};

struct VerbsInterface {
  std::string name;    // uverbs0
  std::string device;  // mlx5_0
};

// The verbs interfaces that programs may open, in the order in which the kernel found the devices.
std::vector<VerbsInterface> verbsInterfaces(const std::filesystem::path& root);

std::vector<NetDevice> rdmaDevices(const std::filesystem::path& root, const RdmaOptions& options);

}  // namespace xylem::topology
