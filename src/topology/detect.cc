#include "topology/detect.h"

#include "topology/detect_cpu.h"
#include "topology/detect_host_devices.h"
#include "topology/detect_host_hash.h"
#include "topology/detect_net.h"
#include "topology/detect_pci.h"

namespace xylem {

Document detectTopology(const DetectOptions& options) {
  if (options.hostDevices < 0 || options.hostDevices > kMaxHostDevices)
    throw InputError({"number of host devices", 0}, std::to_string(options.hostDevices),
                     fmt::format("0 to {}", kMaxHostDevices));
  const CpuLayout layout = readCpuLayout(options.root);
  Document document;
  CpuElements cpus(document, layout, options.root, hostHash(options.root, options.hostId));
  PciTree pci(document, cpus, options.root);
  // Interfaces first: real bus ids take precedence over made-up ones.
  addNets(document, cpus, pci, chooseInterfaces(readInterfaces(options.root), options.interfaces));
  addHostDevices(document, cpus, pci, layout, options.hostDevices);
  return document;
}

}  // namespace xylem
