#include "runtime/sockets/interfaces.h"

#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/interface_list.h"

namespace xylem::sockets {
namespace {

// Without NCCL_SOCKET_IFNAME the first of these lists that selects any interface counts.
constexpr const char* kPreferences[] = {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"};

}  // namespace

std::vector<Interface> listInterfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    throw Error(ResultCode::kSystemError, "cannot list network interfaces: {}", errnoText(errno));
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    found.push_back({entry->ifa_name, SocketAddress(entry->ifa_addr, bytes)});
  }
  return found;
}

int socketFamily(const Settings& settings) {
  const std::string& text = settings.text(Setting::kSocketFamily);
  if (text == "AF_INET") return AF_INET;
  if (text == "AF_INET6") return AF_INET6;
  if (text.empty()) return AF_UNSPEC;
  throw InputError({settings.origin(Setting::kSocketFamily) + ": NCCL_SOCKET_FAMILY", 0}, "`" + text + "`",
                   "AF_INET or AF_INET6");
}

namespace {

// The interfaces that the settings select, with one entry for each of their addresses.
std::vector<Interface> fitting(const std::vector<Interface>& all, const Settings& settings) {
  const int family = socketFamily(settings);
  const auto select = [&](const std::string& list) {
    std::vector<Interface> selected;
    for (const Interface& candidate : all)
      if ((family == AF_UNSPEC || candidate.address.family() == family) &&
          interfaceMatches(list, candidate.name))
        selected.push_back(candidate);
    return selected;
  };
  if (settings.isSet(Setting::kSocketIfname)) return select(settings.text(Setting::kSocketIfname));
  for (const char* list : kPreferences)
    if (std::vector<Interface> selected = select(list); !selected.empty()) return selected;
  return {};
}

// A link-local address is the last resort.
bool better(const Interface& a, const Interface& b) {
  return b.address.linkLocal() && !a.address.linkLocal();
}

}  // namespace

std::vector<Interface> matchingInterfaces(const std::vector<Interface>& all, const Settings& settings) {
  std::vector<Interface> matching;
  for (const Interface& candidate : fitting(all, settings)) {
    const auto known = std::find_if(matching.begin(), matching.end(),
                                    [&](const Interface& other) { return other.name == candidate.name; });
    if (known == matching.end())
      matching.push_back(candidate);
    else if (better(candidate, *known))
      *known = candidate;
  }
  return matching;
}

SocketAddress localAddressTowards(const SocketAddress& to) {
  // Connecting a datagram socket looks up the route and sends nothing.
  const FileDescriptor fd(socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), to.get(), to.size()) != 0) return {};
  SocketAddress address = SocketAddress::boundTo(fd.get());
  address.setPort(0);
  return address;
}

Interface chooseInterface(const std::vector<Interface>& all, const Settings& settings,
                          const SocketAddress* root) {
  const int family = socketFamily(settings);
  const auto select = [&](const std::string& list, int wanted) -> const Interface* {
    const Interface* chosen = nullptr;
    for (const Interface& candidate : all) {
      if (wanted != AF_UNSPEC && candidate.address.family() != wanted) continue;
      if (!interfaceMatches(list, candidate.name)) continue;
      if (chosen == nullptr || better(candidate, *chosen)) chosen = &candidate;
    }
    return chosen;
  };
  const auto selectAny = [&](const std::string& list) -> const Interface* {
    if (family == AF_UNSPEC && root != nullptr)
      if (const Interface* chosen = select(list, root->family())) return chosen;
    return select(list, family);
  };
  if (settings.isSet(Setting::kSocketIfname)) {
    if (const Interface* chosen = selectAny(settings.text(Setting::kSocketIfname))) return *chosen;
  } else {
    if (root != nullptr && settings.isSet(Setting::kCommId)) {
      const SocketAddress local = localAddressTowards(*root);
      for (const Interface& candidate : all)
        if (local.family() != AF_UNSPEC && candidate.address.sameHostAs(local)) return candidate;
    }
    for (const char* list : kPreferences)
      if (const Interface* chosen = selectAny(list)) return *chosen;
  }
  std::string names;
  for (const Interface& candidate : all)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", candidate.name, candidate.address.text());
  throw Error(ResultCode::kInvalidUsage,
              "no network interface fits NCCL_SOCKET_IFNAME={} and NCCL_SOCKET_FAMILY={}; there are: {}",
              settings.text(Setting::kSocketIfname), settings.text(Setting::kSocketFamily),
              names.empty() ? "none" : names);
}

std::string loopbackWarning(const std::vector<Interface>& all, const Settings& settings,
                            const Interface& chosen) {
  if (!settings.isSet(Setting::kSocketIfname) || !chosen.address.loopback()) return {};
  std::vector<std::string> others;
  for (const Interface& other : all)
    if (!other.address.loopback() && std::find(others.begin(), others.end(), other.name) == others.end())
      others.push_back(other.name);
  const std::string& list = settings.text(Setting::kSocketIfname);
  if (others.empty()) return {};
  return fmt::format(
      "NCCL_SOCKET_IFNAME={} ({}) selects the loopback interface {}, over which no other host is reached; there are: "
      "{}{}",
      list, settings.origin(Setting::kSocketIfname), chosen.name, fmt::join(others, ", "),
      list.starts_with('^') ? fmt::format("; NCCL_SOCKET_IFNAME={},{} leaves it out, too", list, chosen.name)
                            : "");
}

}  // namespace xylem::sockets
