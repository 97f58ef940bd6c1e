#include "planner/topology/detect_net.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/interface_list.h"
#include "planner/topology/detect_files.h"
#include "planner/topology/detect_pci.h"

namespace xylem::topology {
namespace {

namespace fs = std::filesystem;

// NCCL's socket transport describes every interface with these numbers.
constexpr int kDefaultSpeed = 10000;  // Mb/s, if the driver does not tell
constexpr int kMaxConnections = 65536;

constexpr const char* kInfinibandPrefixes[] = {"ib"};
// Interfaces between containers and their host: they lead to no other machine.
constexpr const char* kContainerPrefixes[] = {"docker", "veth", "virbr", "cni", "cali", "flannel"};

template <std::size_t N>
bool startsWithAny(const std::string& name, const char* const (&prefixes)[N]) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

// The names of interfaces with an IPv4 or IPv6 address; nullopt if the system does not tell.
std::optional<std::set<std::string>> addressedInterfaces() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, &freeifaddrs);
  std::set<std::string> names;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6) names.insert(entry->ifa_name);
  }
  return names;
}

template <typename Predicate>
std::vector<NetInterface> select(const std::vector<NetInterface>& interfaces, Predicate wanted) {
  std::vector<NetInterface> chosen;
  std::copy_if(interfaces.begin(), interfaces.end(), std::back_inserter(chosen), wanted);
  return chosen;
}

constexpr const char* kNicClass = "0x02";
// No driver tells a latency. The text has NCCL's form of floating-point numbers.
constexpr const char* kLatency = "0.000000";

// The net elements by name, of equal names the first one in document order.
using NetsByName = std::map<std::string, ElementId, std::less<>>;

void collectNets(const Document& document, ElementId below, NetsByName& nets) {
  const std::string* own = document.attribute(below, "name");
  if (document[below].name == "net" && own != nullptr) nets.emplace(*own, below);
  for (const ElementId child : document[below].children) collectNets(document, child, nets);
}

// The element that a topology file has for the device, with its missing surroundings, or a new one.
ElementId netElement(Document& document, CpuElements& cpus, PciTree& pci, NetsByName& nets,
                     const NetDevice& device) {
  if (const auto known = nets.find(device.name); known != nets.end()) {
    const ElementId above = document[document[known->second].parent].parent;
    if (document[above].name == "cpu") cpus.complete(above);
    if (const std::string* busId = document.attribute(above, "busid"))
      pci.attach(std::string(*busId), kNicClass);
    return known->second;
  }
  const ElementId parent = device.busId.empty() ? cpus.first() : pci.attach(device.busId, kNicClass);
  ElementId nic = document.child(parent, "nic");
  if (nic == kNoElement) nic = document.add(parent, "nic");
  const ElementId net = document.add(nic, "net");
  document.set(net, "name", device.name);
  nets.emplace(device.name, net);
  return net;
}

}  // namespace

std::vector<NetInterface> readInterfaces(const fs::path& root) {
  const auto addressed = root == "/" ? addressedInterfaces() : std::nullopt;
  std::vector<NetInterface> interfaces;
  for (const std::string& name : listFolder(root / "sys/class/net")) {
    const fs::path folder = root / "sys/class/net" / name;
    const int flags = parseInt(readLine(folder / "flags"), 0);
    const bool up = (flags & IFF_UP) != 0 && readLine(folder / "operstate") != "down";
    // A port of a bond, bridge or team carries the traffic of the bond, and has no address of its own.
    const bool port = fs::is_symlink(folder / "master");
    if (!up || port || (addressed && !addressed->contains(name))) continue;
    const int speed = parseInt(readLine(folder / "speed"), 0);
    interfaces.push_back({name, parseInt(readLine(folder / "ifindex"), 0), speed > 0 ? speed : kDefaultSpeed,
                          (flags & IFF_LOOPBACK) != 0, pciFunctionOf(folder)});
  }
  std::stable_sort(interfaces.begin(), interfaces.end(),
                   [](const NetInterface& a, const NetInterface& b) { return a.index < b.index; });
  return interfaces;
}

std::vector<NetInterface> chooseInterfaces(const std::vector<NetInterface>& interfaces,
                                           std::string_view filter) {
  if (!filter.empty())
    return select(interfaces,
                  [&](const NetInterface& i) { return interfaceMatches(std::string(filter), i.name); });
  const auto infiniband = [](const NetInterface& i) { return startsWithAny(i.name, kInfinibandPrefixes); };
  const auto container = [](const NetInterface& i) { return startsWithAny(i.name, kContainerPrefixes); };
  if (auto chosen = select(interfaces, infiniband); !chosen.empty()) return chosen;
  if (auto chosen = select(interfaces, [&](const NetInterface& i) { return !i.loopback && !container(i); });
      !chosen.empty())
    return chosen;
  if (auto chosen = select(interfaces, container); !chosen.empty()) return chosen;
  return interfaces;
}

std::string selectsNone(const std::string& assignment, const char* kind,
                        const std::vector<std::string>& names) {
  return fmt::format("{} selects no {} of this machine, which has {}", assignment, kind,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

std::vector<NetDevice> socketDevices(const std::vector<NetInterface>& interfaces) {
  std::vector<NetDevice> devices;
  for (const NetInterface& interface : interfaces) {
    NetDevice device;
    device.name = interface.name;
    device.busId = interface.busId;
    device.speed = interface.speed;
    device.guid = devices.size();
    device.maxConnections = kMaxConnections;
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<ElementId> addNets(Document& document, CpuElements& cpus, PciTree& pci,
                               std::span<const NetDevice> devices) {
  NetsByName known;
  collectNets(document, document.root(), known);
  std::vector<ElementId> nets;
  for (const NetDevice& device : devices) {
    const ElementId net = netElement(document, cpus, pci, known, device);
    document.set(net, "dev", std::to_string(nets.size()));
    document.setIfAbsent(net, "latency", kLatency);
    document.setIfAbsent(net, "speed", std::to_string(device.speed));
    document.setIfAbsent(net, "port", std::to_string(device.port));
    if (device.rail >= 0) document.setIfAbsent(net, "rail", std::to_string(device.rail));
    if (device.plane >= 0) document.setIfAbsent(net, "plane", std::to_string(device.plane));
    document.setIfAbsent(net, "guid", fmt::format("{:#x}", device.guid));
    document.setIfAbsent(net, "maxconn", std::to_string(device.maxConnections));
    document.setIfAbsent(net, "gdr", device.gdr ? "1" : "0");
    if (device.reduces) document.setIfAbsent(net, "coll", *device.reduces ? "1" : "0");
    nets.push_back(net);
  }
  return nets;
}

}  // namespace xylem::topology
