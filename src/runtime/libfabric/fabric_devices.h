#pragma once
// The devices of libfabric's providers on this machine, and the choice among them. A device is a domain of
// libfabric with reliable, unconnected endpoints and tagged messages.
//
//   for (const FabricDevice& device : findFabricDevices(FabricOptions::from(settings)))
//     use(device.properties.name);                                                           // "mlx5_0"

#include <optional>
#include <string>
#include <vector>

#include "core/settings.h"
#include "runtime/libfabric/fabric_library.h"
#include "runtime/sockets/interfaces.h"
#include "runtime/transport/net/network.h"

namespace xylem::libfabric {

struct FabricOptions {
  // Providers of libfabric in order of preference: the first that has a device is used. Empty: a default
  // list.
  std::vector<std::string> providers;
  // The interfaces that providers over network interfaces (tcp) may use.
  std::vector<sockets::Interface> interfaces;
  // Long messages are written into the receiver's memory (1), sent as tagged messages (0), or as suits the
  // provider (-2).
  int write = -2;

  static FabricOptions from(const Settings& settings);
};

struct FabricDevice {
  std::string provider;  // `tcp`, `efa`: without libfabric's layers above it
  transport::NetProperties properties;
  std::optional<sockets::SocketAddress> address;  // if the device is a network interface
  std::shared_ptr<const fi_info> info;
  bool software = false;  // makes progress only inside of calls
  bool delivers = false;  // reports when a message has arrived at the receiver
  bool writes = false;    // long messages are written into the receiver's memory
};

// All devices of the first provider that has any. Throws, naming the providers, if none has.
std::vector<FabricDevice> findFabricDevices(const FabricOptions& options);

}  // namespace xylem::libfabric
