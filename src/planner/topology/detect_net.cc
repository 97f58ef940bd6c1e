#include "planner/topology/detect_net.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>

#include "core/interface_list.h"
#include "planner/topology/detect_files.h"
#include "planner/topology/detect_pci.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

// What NCCL's socket transport says of every interface.
constexpr int kDefaultSpeed = 10000;  // Mb/s, where the driver does not tell
constexpr int kMaxConnections = 65536;

constexpr const char* kInfinibandPrefixes[] = {"ib"};
// Interfaces between containers and their host, which lead to no other machine.
constexpr const char* kPlumbingPrefixes[] = {"docker", "veth", "virbr", "cni", "cali", "flannel"};

template <std::size_t N>
bool startsWithAny(const std::string& name, const char* const (&prefixes)[N]) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

// Names with an IPv4 or IPv6 address; nothing if the system does not say.
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

// The bus id of the device behind an interface. Where the device is not on a PCI bus itself (virtio, USB)
// NCCL treats the interface as virtual.
std::string pciBusId(const fs::path& folder) {
  const fs::path device = realPath(folder / "device");
  if (device.empty() || realPath(device / "subsystem").filename() != "pci") return "";
  const std::string name = device.filename().string();
  return isBusId(name) ? name : "";
}

template <typename Predicate>
std::vector<NetInterface> select(const std::vector<NetInterface>& interfaces, Predicate wanted) {
  std::vector<NetInterface> chosen;
  std::copy_if(interfaces.begin(), interfaces.end(), std::back_inserter(chosen), wanted);
  return chosen;
}

}  // namespace

std::vector<NetInterface> readInterfaces(const fs::path& root) {
  const auto addressed = root == "/" ? addressedInterfaces() : std::nullopt;
  std::vector<NetInterface> interfaces;
  for (const std::string& name : listFolder(root / "sys/class/net")) {
    const fs::path folder = root / "sys/class/net" / name;
    const int flags = parseInt(readLine(folder / "flags"), 0);
    const bool up = (flags & IFF_UP) != 0 && readLine(folder / "operstate") != "down";
    // A port of a bond, bridge or team carries that one's traffic, and has no address of its own.
    const bool port = fs::is_symlink(folder / "master");
    if (!up || port || (addressed && !addressed->contains(name))) continue;
    const int speed = parseInt(readLine(folder / "speed"), 0);
    interfaces.push_back({name, parseInt(readLine(folder / "ifindex"), 0), speed > 0 ? speed : kDefaultSpeed,
                          (flags & IFF_LOOPBACK) != 0, pciBusId(folder)});
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
  const auto plumbing = [](const NetInterface& i) { return startsWithAny(i.name, kPlumbingPrefixes); };
  if (auto chosen = select(interfaces, infiniband); !chosen.empty()) return chosen;
  if (auto chosen = select(interfaces, [&](const NetInterface& i) { return !i.loopback && !plumbing(i); });
      !chosen.empty())
    return chosen;
  if (auto chosen = select(interfaces, plumbing); !chosen.empty()) return chosen;
  return interfaces;
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

}  // namespace xylem
