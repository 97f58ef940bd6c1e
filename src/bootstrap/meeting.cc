#include "bootstrap/meeting.h"

#include "bootstrap/root.h"
#include "wire/interfaces.h"

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

}  // namespace

UniqueId openMeeting(const Settings& settings, std::shared_ptr<const Logger> log) {
  if (settings.isSet(Setting::kCommId))
    return UniqueId::fromCommId(settings.text(Setting::kCommId), socketFamily(settings),
                                settings.text(Setting::kSecret));
  SocketAddress address = chooseInterface(listInterfaces(), settings).address;
  address.setPort(0);
  const Secret secret = randomSecret();
  return {startRoot(address, secret, settings, std::move(log)), secret};
}

void hostCommId(const UniqueId& id, const Settings& settings, std::shared_ptr<const Logger> log) {
  if (settings.isSet(Setting::kCommId)) startRoot(id.address(), id.secret(), settings, std::move(log));
}

}  // namespace xylem
