#include "planner/topology/detect.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>
#include <span>

#include "core/spelling.h"
#include "planner/topology/detect_cpu.h"
#include "planner/topology/detect_files.h"
#include "planner/topology/detect_net.h"
#include "planner/topology/detect_pci.h"
#include "planner/topology/fuse.h"

namespace xylem::topology {
namespace {

namespace fs = std::filesystem;

// The tools of virtual machines put a description of the real machine here.
constexpr const char* kVirtualTopology = "var/run/nvidia-topologyd/virtualTopology.xml";
// Reading this file makes the kernel look for direct lanes between switches again.
constexpr const char* kRefreshSwitchLinks = "sys/kernel/pci_switch_link/refresh_switch_toplogy";

bool canOpen(const fs::path& file) { return std::ifstream(file).is_open(); }

// Removes the marks of an earlier job: a dumped file has them, and they say nothing about this job.
void removeMarks(Document& document) {
  for (std::size_t i = 0; i < document.size(); ++i)
    document.removeAttribute(static_cast<ElementId>(i), "keep");
}

constexpr const char* kNvidia = "0x10de";
// NCCL keeps this many elements in the description of one rank.
constexpr std::size_t kMaxElementsInNccl = 256;

// The bus ids of the children, as in "0000:3b:00.0, 0000:3c:00.0".
std::string busIdsBelow(const Document& document, ElementId parent) {
  std::string list;
  for (const ElementId child : document[parent].children)
    if (const std::string* busId = document.attribute(child, "busid"))
      list += (list.empty() ? "" : ", ") + *busId;
  return list;
}

// Remarks on NVIDIA devices on the PCI bus that no source of GPU facts described.
void remarkUnknownGpus(const fs::path& root, std::vector<std::string>& remarks) {
  std::vector<std::string> found;
  for (const std::string& busId : listFolder(root / "sys/bus/pci/devices")) {
    const fs::path device = root / "sys/bus/pci/devices" / busId;
    if (readLine(device / "vendor") == kNvidia && readLine(device / "class").starts_with(kGpuClass))
      found.push_back(busId);
  }
  if (found.empty()) return;
  const std::string where =
      root == "/" ? std::string("NVIDIA's management library (libnvidia-ml.so.1) does not tell about them")
                  : fmt::format("{} does not describe them", (root / kCapturedGpusFile).string());
  remarks.push_back(fmt::format("{} on the PCI bus {} left out: {}; host devices are described instead",
                                fmt::join(found, ", "), found.size() == 1 ? "is" : "are", where));
}

// Remarks on bus ids in capitals: NCCL looks for small letters and so never finds these elements of a file.
void remarkCapitals(const Document& file, std::vector<std::string>& remarks) {
  for (std::size_t i = 0; i < file.size(); ++i) {
    const auto id = static_cast<ElementId>(i);
    const std::string* busId = file.attribute(id, "busid");
    if (busId == nullptr || *busId == lowerCase(*busId)) continue;
    remarks.push_back(
        fmt::format("{}: busid=\"{}\" is never found: NCCL writes bus ids in small letters ({})",
                    toString(file.location(id)), *busId, lowerCase(*busId)));
  }
}

// Remarks on cards that NCCL takes for virtual functions of one card because they share a PCI bus, as in
// virtual machines.
void remarkSharedCards(std::span<const NetDevice> devices, std::vector<std::string>& remarks) {
  std::map<std::string, std::set<std::string>> functions;  // by card, without the function's number
  for (const NetDevice& device : devices)
    if (!device.functionBusId.empty())
      functions[device.busId].insert(device.functionBusId.substr(0, device.functionBusId.size() - 2));
  for (const auto& [card, found] : functions)
    if (found.size() > 1)
      remarks.push_back(
          fmt::format("the network devices {} count as one card {}: NCCL takes devices of one PCI bus for "
                      "virtual functions; "
                      "NCCL_IB_MERGE_VFS=0 tells them apart",
                      fmt::join(found, ", "), card));
}

// Remarks on GPUs whose description lacks an attribute without which NCCL does not start.
void remarkGpus(std::span<const GpuFacts> gpus, const rules::RuleSet& rules, const fs::path& root,
                std::vector<std::string>& remarks) {
  for (const GpuFacts& gpu : gpus) {
    if (rules.gpuLinksByNvml && gpu.pci && gpu.pci->generation > kLastPciGeneration)
      remarks.push_back(
          fmt::format("GPU {} is on PCI Express of generation {}: NCCL {} has no text for its speed and will "
                      "not start here; a topology file with its link_speed (NCCL_TOPO_FILE) repairs that",
                      gpu.dev, gpu.pci->generation, rules::versionText(rules.version)));
    if (rules.hiddenNvlinksEndAtSwitch) continue;
    for (const GpuFacts::Nvlink& link : gpu.nvlinks) {
      const fs::path end = root / "sys/bus/pci/devices" / link.target;
      if (!link.target.empty() && fs::exists(end) && readLine(end / "class").empty())
        remarks.push_back(fmt::format(
            "the class of {}, at the other end of an NVLink of GPU {}, cannot be read: NCCL {} will "
            "not start here; from 2.30.7 on it takes the device for an NVSwitch",
            link.target, gpu.dev, rules::versionText(rules.version)));
    }
  }
}

// Remarks on devices without a NUMA node and on descriptions too large for NCCL. `elements` counts the
// elements of a rank before trimming.
void remarkOnOutcome(const Document& machine, std::size_t elements, std::vector<std::string>& remarks) {
  const ElementId unknown = machine.child(machine.root(), "cpu", "numaid", "-1");
  if (unknown != kNoElement && machine[machine.root()].children.size() > 1)
    remarks.push_back(fmt::format(
        "the system gives no NUMA node for {}: NCCL puts it below a CPU of its own (numaid=\"-1\"), far from "
        "everything else; a topology file that says where it is (NCCL_TOPO_FILE) repairs that",
        busIdsBelow(machine, unknown)));
  if (elements > kMaxElementsInNccl)
    remarks.push_back(
        fmt::format("a rank's description of this machine has {} elements, NCCL has room for {}: it will "
                    "not start here; NCCL_IB_HCA with fewer devices makes the description smaller",
                    elements, kMaxElementsInNccl));
}

// One detection: the GPUs decide whether the ranks of a job on them describe the machine, or host devices do.
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
  // Returns whether a file is named that cannot be opened, and remarks on it.
  bool remarkUnopenedFile() {
    if (options_.topologyFile.empty() || canOpen(options_.topologyFile)) return false;
    remarks_.push_back("cannot open " + options_.topologyFile +
                       " (NCCL_TOPO_FILE): the machine is described without it, as NCCL does");
    return true;
  }

  // The description that detection completes: the named file, the virtual machine's file, or an empty
  // document.
  Document startingPoint() {
    const fs::path usual = options_.root / kVirtualTopology;
    if (options_.topologyFile.empty() && !canOpen(usual)) return Document();
    if (remarkUnopenedFile()) return Document();
    Document document =
        readTopology(options_.topologyFile.empty() ? usual.string() : options_.topologyFile, &remarks_);
    removeMarks(document);
    if (options_.rules->fileIsOwnHost)
      for (const ElementId child : document[document.root()].children)
        if (document[child].name == "cpu") document.set(child, "host_hash", hostHash_);
    remarkCapitals(document, remarks_);
    return document;
  }

  std::vector<NetDevice> rdmaPorts() const {
    std::vector<NetDevice> chosen = rdmaDevices(options_.root, options_.rdma);
    if (chosen.empty() && !options_.rdma.hca.empty()) {
      RdmaOptions any = options_.rdma;
      any.hca.clear();
      std::vector<std::string> names;
      for (const NetDevice& found : rdmaDevices(options_.root, any)) names.push_back(found.name);
      if (!names.empty())
        remarks_.push_back(selectsNone("NCCL_IB_HCA=" + options_.rdma.hca, "RDMA device", names));
    }
    return chosen;
  }

  std::vector<NetDevice> interfaces() const {
    const std::vector<NetInterface> all = readInterfaces(options_.root);
    std::vector<NetDevice> chosen = socketDevices(chooseInterfaces(all, options_.interfaces));
    if (chosen.empty() && !all.empty()) {
      std::vector<std::string> names;
      for (const NetInterface& found : all) names.push_back(found.name);
      remarks_.push_back(selectsNone("NCCL_SOCKET_IFNAME=" + options_.interfaces, "interface", names));
    }
    return chosen;
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

  // Does what the ranks of a job on all GPUs do together: each describes its own GPU and all network cards
  // and trims its description to these; then all descriptions are fused.
  Document withGpus(const Document& start, const std::vector<GpuFacts>& gpus) const {
    const std::vector<NetDevice> rdma = options_.networks ? *options_.networks : rdmaPorts();
    const std::vector<NetDevice> devices = rdma.empty() ? interfaces() : rdma;
    remarkSharedCards(rdma, remarks_);
    remarkGpus(gpus, *options_.rules, options_.root, remarks_);
    std::vector<Document> described;
    std::size_t elements = 0;
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      Document own = start;
      CpuElements cpus(own, layout_, options_.root, hostHash_);
      PciTree pci(own, cpus, options_.root);
      own.set(addGpu(own, pci, gpus[rank], static_cast<int>(rank), *options_.rules), "keep", "1");
      std::vector<ElementId> nets = addNets(own, cpus, pci, devices);
      // The socket transport has no virtual devices.
      if (options_.merge && !rdma.empty())
        nets = mergeNics(own, nets, devices, *options_.merge, *options_.rules);
      for (const ElementId net : nets) own.set(net, "keep", "1");
      elements = std::max(elements, own.size());
      trimToKept(own, *options_.rules);
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

}  // namespace xylem::topology
