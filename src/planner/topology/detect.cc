#include "planner/topology/detect.h"

#include <fstream>

#include "planner/topology/detect_cpu.h"
#include "planner/topology/detect_files.h"
#include "planner/topology/detect_gpus.h"
#include "planner/topology/detect_host_devices.h"
#include "planner/topology/detect_host_hash.h"
#include "planner/topology/detect_net.h"
#include "planner/topology/detect_pci.h"
#include "planner/topology/detect_remarks.h"
#include "planner/topology/fuse.h"

namespace xylem {
namespace {

// Where the tools of virtual machines put the description of the real machine below.
constexpr const char* kVirtualTopology = "var/run/nvidia-topologyd/virtualTopology.xml";
// Reading it makes the kernel look for direct lanes between switches again.
constexpr const char* kRefreshSwitchLinks = "sys/kernel/pci_switch_link/refresh_switch_toplogy";

bool canOpen(const std::filesystem::path& file) { return std::ifstream(file).is_open(); }

// Marks of an earlier job in a file (a dump has them) say nothing about this one.
void removeMarks(Document& document) {
  for (std::size_t i = 0; i < document.size(); ++i)
    document.removeAttribute(static_cast<ElementId>(i), "keep");
}

class Detection {
 public:
  Detection(const DetectOptions& options, std::vector<std::string>& remarks)
      : options_(options),
        remarks_(remarks),
        layout_(readCpuLayout(options.root)),
        hostHash_(hostHash(options.root, options.hostId)) {}

  Document run() {
    if (options_.gpus == nullptr) return withHostDevices();
    readLine(options_.root / kRefreshSwitchLinks);
    const GpuInventory inventory = options_.gpus->read();
    remarks_.insert(remarks_.end(), inventory.remarks.begin(), inventory.remarks.end());
    if (!inventory.gpus.empty()) return withGpus(startingPoint(), inventory.gpus);
    if (canOpen(options_.topologyFile)) {
      remarks_.push_back("no GPU was found here: " + options_.topologyFile +
                         " (NCCL_TOPO_FILE) is taken as it stands");
      return readTopology(options_.topologyFile, &remarks_);
    }
    remarkUnopenedFile();
    remarkUnknownGpus(options_.root, remarks_);
    return withHostDevices();
  }

 private:
  // True if a file is named and cannot be opened.
  bool remarkUnopenedFile() {
    if (options_.topologyFile.empty() || canOpen(options_.topologyFile)) return false;
    remarks_.push_back("cannot open " + options_.topologyFile +
                       " (NCCL_TOPO_FILE): the machine is described without it, as NCCL does");
    return true;
  }

  Document startingPoint() {
    const std::filesystem::path usual = options_.root / kVirtualTopology;
    if (options_.topologyFile.empty() && !canOpen(usual)) return Document();
    if (remarkUnopenedFile()) return Document();
    Document document =
        readTopology(options_.topologyFile.empty() ? usual.string() : options_.topologyFile, &remarks_);
    removeMarks(document);
    remarkCapitals(document, remarks_);
    return document;
  }

  std::vector<NetDevice> interfaces() const {
    return socketDevices(chooseInterfaces(readInterfaces(options_.root), options_.interfaces));
  }

  Document withHostDevices() const {
    Document document;
    CpuElements cpus(document, layout_, options_.root, hostHash_);
    cpus.addAll();
    PciTree pci(document, cpus, options_.root);
    // Interfaces first: real bus ids take precedence over made-up ones.
    addNets(document, cpus, pci, options_.networks ? *options_.networks : interfaces());
    addHostDevices(document, cpus, pci, layout_, options_.hostDevices);
    return document;
  }

  // Every rank describes its own GPU and all network cards; what no rank uses is left out.
  Document withGpus(const Document& start, const std::vector<GpuFacts>& gpus) const {
    const std::vector<NetDevice> rdma =
        options_.networks ? *options_.networks : rdmaDevices(options_.root, options_.rdma);
    const std::vector<NetDevice> devices = rdma.empty() ? interfaces() : rdma;
    remarkSharedCards(rdma, remarks_);
    std::vector<Document> described;
    std::size_t elements = 0;
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      Document own = start;
      CpuElements cpus(own, layout_, options_.root, hostHash_);
      PciTree pci(own, cpus, options_.root);
      own.set(addGpu(own, pci, gpus[rank], static_cast<int>(rank)), "keep", "1");
      std::vector<ElementId> nets = addNets(own, cpus, pci, devices);
      // The socket transport has no virtual devices.
      if (options_.merge && !rdma.empty()) nets = mergeNics(own, nets, *options_.merge);
      for (const ElementId net : nets) own.set(net, "keep", "1");
      elements = std::max(elements, own.size());
      trimToKept(own);
      described.push_back(std::move(own));
    }
    Document fused = fuse(described);
    remarkOnOutcome(fused, elements, remarks_);
    return fused;
  }

  const DetectOptions& options_;
  std::vector<std::string>& remarks_;
  const CpuLayout layout_;
  const std::string hostHash_;
};

}  // namespace

Document detectTopology(const DetectOptions& options, std::vector<std::string>* remarks) {
  if (options.hostDevices < 0 || options.hostDevices > kMaxHostDevices)
    throw InputError({"number of host devices", 0}, std::to_string(options.hostDevices),
                     fmt::format("0 to {}", kMaxHostDevices));
  std::vector<std::string> unread;
  return Detection(options, remarks == nullptr ? unread : *remarks).run();
}

}  // namespace xylem
