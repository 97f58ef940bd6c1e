#pragma once
// The devices that libfabric's providers have on this machine, and which of them are used.
//
//   for (const FabricDevice& device : findFabricDevices(options)) device.properties.name      // "mlx5_0"
//
// A device is a domain of libfabric that has reliable, unconnected endpoints and tagged messages.

#include <optional>
#include <string>
#include <vector>

#include "runtime/libfabric/fabric_library.h"
#include "runtime/libfabric/fabric_options.h"
#include "runtime/transport/net/network.h"

namespace xylem {

struct FabricDevice {
  std::string provider;  // `tcp`, `efa`: without what libfabric layers above
  NetProperties properties;
  std::optional<SocketAddress> address;  // of the interface that it is
  std::shared_ptr<const fi_info> info;
  bool software = false;  // moves nothing unless it is called
  bool delivers = false;  // what was sent can be known to have arrived
  bool writes = false;    // data is written into the receiver's memory
};

// All of one provider: the first of the options that has any. Throws, with what was looked for, if none has.
std::vector<FabricDevice> findFabricDevices(const FabricOptions& options);

}  // namespace xylem
