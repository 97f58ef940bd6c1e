#include "runtime/bootstrap/meeting.h"

#include <unistd.h>

#include <array>

#include "runtime/bootstrap/root.h"
#include "runtime/sockets/interfaces.h"

namespace xylem {
namespace {

SocketAddress startRoot(const SocketAddress& address, const Secret& secret, const Settings& settings,
                        std::shared_ptr<const Logger> log) {
  const std::chrono::seconds timeout(settings.integer(Setting::kTimeout));
  auto root = std::make_unique<Root>(address, secret, timeout, std::move(log));
  const SocketAddress bound = root->address();
  root->start();
  keepRoot(std::move(root));
  return bound;
}

// Whether `place`, as host:port, names this host; with or without the domain.
bool isThisHost(const std::string& place) {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return false;
  const std::string own = name.data(), host = place.substr(0, place.rfind(':'));
  return !own.empty() && (host == own || host.starts_with(own + ".") || own.starts_with(host + "."));
}

// Many hosts take their own name for an address of the loopback, as Debian's 127.0.1.1: where other hosts,
// which take it for an interface, would not find the root, nor the ranks that are here.
UniqueId reachable(const UniqueId& id, const std::string& place, const Settings& settings) {
  if (!id.address().loopback() || !isThisHost(place)) return id;
  SocketAddress address = chooseInterface(listInterfaces(), settings).address;
  address.setPort(id.address().port());
  return {address, id.secret()};
}

}  // namespace

UniqueId openMeeting(const Settings& settings, std::shared_ptr<const Logger> log) {
  if (settings.isSet(Setting::kCommId)) {
    const std::string place = settings.text(Setting::kCommId);
    return reachable(UniqueId::fromCommId(place, socketFamily(settings), settings.text(Setting::kSecret)),
                     place, settings);
  }
  SocketAddress address = chooseInterface(listInterfaces(), settings).address;
  address.setPort(0);
  const Secret secret = randomSecret();
  return {startRoot(address, secret, settings, std::move(log)), secret};
}

void hostCommId(const UniqueId& id, const Settings& settings, std::shared_ptr<const Logger> log) {
  if (settings.isSet(Setting::kCommId)) startRoot(id.address(), id.secret(), settings, std::move(log));
}

}  // namespace xylem
