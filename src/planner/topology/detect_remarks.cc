#include "planner/topology/detect_remarks.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "planner/topology/detect_files.h"
#include "planner/topology/detect_gpu_source.h"
#include "planner/topology/detect_gpus.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNvidia = "0x10de";
// What NCCL 2.25 has room for in the description of one rank.
constexpr std::size_t kMostElementsInNccl = 256;

// "0000:3b:00.0, 0000:3c:00.0"
std::string busIdsBelow(const Document& document, ElementId parent) {
  std::string list;
  for (const ElementId child : document[parent].children)
    if (const std::string* busId = document.attribute(child, "busid"))
      list += (list.empty() ? "" : ", ") + *busId;
  return list;
}

}  // namespace

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

void remarkOnOutcome(const Document& machine, std::size_t elements, std::vector<std::string>& remarks) {
  const ElementId unknown = machine.child(machine.root(), "cpu", "numaid", "-1");
  if (unknown != kNoElement && machine[machine.root()].children.size() > 1)
    remarks.push_back(fmt::format(
        "the system gives no NUMA node for {}: NCCL puts it below a CPU of its own (numaid=\"-1\"), far from "
        "everything else; a topology file that says where it is (NCCL_TOPO_FILE) repairs that",
        busIdsBelow(machine, unknown)));
  if (elements > kMostElementsInNccl)
    remarks.push_back(fmt::format(
        "a rank's description of this machine has {} elements, NCCL 2.25 has room for {}: it will "
        "not start here; NCCL_IB_HCA with fewer devices makes the description smaller",
        elements, kMostElementsInNccl));
}

}  // namespace xylem
