#include "planner/topology/detect_rdma.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "planner/topology/detect_files.h"
#include "planner/topology/detect_pci.h"
#include "planner/topology/select_nets.h"
#include "planner/topology/system.h"

namespace xylem::topology {
namespace {

namespace fs = std::filesystem;

// Queue pairs of the cards in use today. The kernel does not publish a device's own limit, and nothing in a
// plan depends on it.
constexpr int kQueuePairs = 131072;
constexpr float kMbpsPerGbps = 1000.0f;
// The number in the state of an active port, "4: ACTIVE".
constexpr int kActive = 4;
// The first Linux with DMA-BUF for RDMA.
constexpr std::pair<int, int> kDmaBufLinux = {5, 12};

// Compares the numbers at the end of names as numbers, so that "rdma10" comes after "rdma9".
bool naturallyBefore(const std::string& a, const std::string& b) {
  const auto split = [](const std::string& name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    return std::pair(name.substr(0, digits), parseInt("1" + name.substr(digits), 0));
  };
  return split(a) != split(b) ? split(a) < split(b) : a < b;
}

// A guid such as "b859:9f03:00d4:1020" is in network order; NCCL prints its bytes as a number of the
// (little-endian) CPU.
std::uint64_t readGuid(const fs::path& file) {
  std::string digits = readLine(file);
  std::erase(digits, ':');
  const std::uint64_t network = std::strtoull(digits.c_str(), nullptr, 16);
  std::uint64_t guid = 0;
  for (int byte = 0; byte < 8; ++byte) guid = guid << 8 | (network >> (8 * byte) & 0xff);
  return guid;
}

// The Mb/s of a text such as "200 Gb/sec (4X HDR)".
int readRate(const fs::path& file) {
  return static_cast<int>(std::lround(std::strtof(readLine(file).c_str(), nullptr) * kMbpsPerGbps));
}

// The bus id of the card's first function.
std::string cardOf(std::string busId, bool mergeFunctions) {
  if (busId.empty()) return busId;
  busId.back() = '0';
  if (mergeFunctions) busId.replace(busId.size() - 4, 2, "00");
  return busId;
}

// Returns whether a card can access GPU memory: NVIDIA's peer memory module is loaded, or the open kernel
// modules run on Linux 5.12 or later (DMA-BUF).
bool supportsGpuMemory(const fs::path& root) {
  for (const char* module :
       {"sys/kernel/mm/memory_peers/nv_mem/version", "sys/kernel/mm/memory_peers/nv_mem_nc/version",
        "sys/module/nvidia_peermem/version"})
    if (std::error_code error; fs::exists(root / module, error)) return true;
  std::istringstream release(readLine(root / "proc/sys/kernel/osrelease"));
  int major = 0;
  int minor = 0;
  char dot = 0;
  release >> major >> dot >> minor;
  const bool openModules =
      readLine(root / "proc/driver/nvidia/version").find("Open Kernel Module") != std::string::npos;
  return openModules && std::pair(major, minor) >= kDmaBufLinux;
}

// The facts about a device; null if the libraries tell none.
const RdmaFacts* factsOf(const std::vector<RdmaFacts>& told, const std::string& device) {
  const auto found =
      std::find_if(told.begin(), told.end(), [&](const RdmaFacts& f) { return f.device == device; });
  return found == told.end() ? nullptr : &*found;
}

// The bus id of the data-direct device that the options ask for; empty if there is none.
std::string directOf(const RdmaFacts* facts, const RdmaOptions& options) {
  const bool wanted =
      facts != nullptr && options.dataDirect > 0 && (facts->dmaBuf || !options.directNeedsDmaBuf);
  return wanted ? facts->directBusId : "";
}

// Today's cards number the port of every function 1. The card's earlier ports are added, so that each port of a card has its own
// number.
void numberPorts(std::vector<NetDevice>& devices) {
  std::map<std::string, int> portsOfCard;
  for (NetDevice& device : devices)
    if (!device.busId.empty()) device.port += portsOfCard[device.busId]++;
}

}  // namespace

// Devices have the order of their verbs interfaces; programs cannot use a device without one. On this machine
// the process must also be allowed to open it: a container sees all devices in sysfs, but may open only some.
std::vector<VerbsInterface> verbsInterfaces(const fs::path& root) {
  const fs::path folder = root / "sys/class/infiniband_verbs";
  std::vector<std::string> names = listFolder(folder);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("uverbs"); });
  std::sort(names.begin(), names.end(), naturallyBefore);
  std::vector<VerbsInterface> interfaces;
  for (const std::string& name : names) {
    const fs::path node = fs::path("/dev/infiniband") / name;
    if (root == "/" && ::access(node.c_str(), R_OK | W_OK) != 0) continue;
    if (std::string device = readLine(folder / name / "ibdev"); !device.empty())
      interfaces.push_back({name, std::move(device)});
  }
  return interfaces;
}

std::vector<NetDevice> rdmaDevices(const fs::path& root, const RdmaOptions& options) {
  std::vector<NetDevice> devices;
  if (options.disable) return devices;
  const bool gdr = supportsGpuMemory(root);
  std::vector<RdmaFacts> told;
  if (options.facts != nullptr && (options.dataDirect > 0 || options.asksSpeed)) told = options.facts->read();
  for (const VerbsInterface& verbs : verbsInterfaces(root)) {
    const std::string& name = verbs.device;
    const fs::path folder = root / "sys/class/infiniband" / name;
    const std::string function = pciFunctionOf(folder);
    const std::string card = options.portsShareCard ? cardOf(function, options.mergeFunctions) : function;
    const RdmaFacts* facts = factsOf(told, name);
    const std::string direct = directOf(facts, options);
    std::vector<std::string> ports = listFolder(folder / "ports");
    std::sort(ports.begin(), ports.end(), naturallyBefore);
    for (const std::string& number : ports) {
      const fs::path port = folder / "ports" / number;
      const int index = parseInt(number, 0);
      if (parseInt(readLine(port / "state"), 0) != kActive || !hcaMatches(options.hca, name, index)) continue;
      NetDevice device;
      device.name = name;
      device.busId = card;
      device.functionBusId = function;
      device.speed = readRate(port / "rate");
      if (options.asksSpeed && facts != nullptr && facts->speeds.contains(index))
        device.speed = facts->speeds.at(index);
      device.port = index;
      if (options.namesPlaces) {
        const NetPlace place = placeOf(options.hca, name, index);
        device.rail = place.rail;
        device.plane = place.plane;
      }
      device.ethernet = readLine(port / "link_layer") == "Ethernet";
      device.guid = readGuid(folder / "sys_image_guid");
      device.maxConnections = kQueuePairs;
      device.gdr = gdr;
      constexpr int kDirectAlone = 1;
      if (direct.empty() || options.dataDirect != kDirectAlone) devices.push_back(device);
      if (direct.empty()) continue;
      device.name += kDataDirectSuffix;
      device.busId = device.functionBusId = direct;
      devices.push_back(std::move(device));
    }
  }
  if (options.byBusId)
    std::stable_sort(devices.begin(), devices.end(), [](const NetDevice& a, const NetDevice& b) {
      return std::pair(a.functionBusId.empty(), a.functionBusId) <
             std::pair(b.functionBusId.empty(), b.functionBusId);
    });
  numberPorts(devices);
  return devices;
}

}  // namespace xylem::topology
