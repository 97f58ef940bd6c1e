#include "bootstrap/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>
#include <memory>

#include "core/error.h"
#include "core/interface_list.h"

namespace xylem {
namespace {

// Which interfaces to prefer when nothing is set: the first list that selects any.
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

Interface chooseInterface(const std::vector<Interface>& all, const Settings& settings) {
  const int family = socketFamily(settings);
  const auto select = [&](const std::string& list) -> const Interface* {
    const Interface* chosen = nullptr;
    for (const Interface& candidate : all) {
      if (family != AF_UNSPEC && candidate.address.family() != family) continue;
      if (!interfaceMatches(list, candidate.name)) continue;
      // An address that is only valid on one link is the last resort.
      if (chosen == nullptr || (chosen->address.linkLocal() && !candidate.address.linkLocal()))
        chosen = &candidate;
    }
    return chosen;
  };
  if (settings.isSet(Setting::kSocketIfname)) {
    if (const Interface* chosen = select(settings.text(Setting::kSocketIfname))) return *chosen;
  } else {
    for (const char* list : kPreferences)
      if (const Interface* chosen = select(list)) return *chosen;
  }
  std::string names;
  for (const Interface& candidate : all)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", candidate.name, candidate.address.text());
  throw Error(ResultCode::kInvalidUsage,
              "no network interface fits NCCL_SOCKET_IFNAME={} and NCCL_SOCKET_FAMILY={}; there are: {}",
              settings.text(Setting::kSocketIfname), settings.text(Setting::kSocketFamily),
              names.empty() ? "none" : names);
}

}  // namespace xylem
