#pragma once
// How the fabric network is used.

#include <string>
#include <vector>

#include "core/settings.h"
#include "runtime/sockets/interfaces.h"

namespace xylem {

struct FabricOptions {
  // Providers of libfabric, the best first: the first that has a device is used.
  std::vector<std::string> providers;
  // Providers whose devices are network interfaces (tcp) use these.
  std::vector<Interface> interfaces;
  // Into the receiver's memory (1), by tagged messages (0), or as suits the provider (-2).
  int write = -2;

  static FabricOptions from(const Settings& settings);
};

}  // namespace xylem
