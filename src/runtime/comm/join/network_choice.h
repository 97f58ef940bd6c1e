#pragma once
// Chooses the network between hosts, by NCCL's rules: the one that NCCL_NET or the
// communicator's configuration names, which may also be libfabric's; otherwise the first net plugin of
// NCCL_NET_PLUGIN that works, or sockets.
//
//   const NetworkChoice choice = NetworkChoice::of(settings, config.netName, log);
//   auto network = choice.make({secret, config.trafficClass}, settings, *log);   // throws, with the reason, if there is no network
//
// Choosing does not throw, so that a rank without a network can tell the others.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/topology/detect_net.h"
#include "runtime/plugins/net_plugin.h"
#include "runtime/sockets/secret.h"
#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/net/network.h"

namespace xylem::libfabric {
struct FabricDevice;
}
namespace xylem::comm {

// The name by which ranks compare their networks: different ones do not talk to each other.
using NetworkName = std::array<char, 32>;

// For which communicator a network is made. Only for the call.
struct NetworkUser {
  const sockets::Secret& secret;
  int trafficClass = -1;  // plugins get it
};

class NetworkChoice {
 public:
  static NetworkChoice of(const Settings& settings, const std::string& asked,
                          const std::shared_ptr<const Logger>& log);

  std::unique_ptr<transport::Network> make(const NetworkUser& user, const Settings& settings,
                                           const Logger& log) const;
  // The network's devices for the description of this host; nothing if they are the host's interfaces. `gpu`: the kinds of memory
  // that the rank's GPU has (transport::NetPointer), none for host devices.
  std::optional<std::vector<topology::NetDevice>> devices(unsigned gpu) const;
  // Empty if there is no network.
  NetworkName name() const;
  // The plugin's network that reduces, if NCCL_COLLNET_ENABLE asks for it and the plugin has one; else null.
  std::shared_ptr<transport::CollNetwork> reducing(const sockets::Secret& secret) const;
  // Whether the network is made of the host's interfaces.
  bool sockets() const { return kind_ == Kind::kSocket; }

 private:
  enum class Kind { kNone, kPlugin, kSocket, kFabric };
  void takeFabric(const Settings& settings, const Logger& log);
  std::vector<transport::NetProperties> properties() const;
  Kind kind_ = Kind::kNone;
  std::string reason_;  // why there is no network
  std::shared_ptr<const plugins::NetPlugin> plugin_;
  std::shared_ptr<const plugins::CollPlugin> collective_;
  std::shared_ptr<const std::vector<libfabric::FabricDevice>> fabric_;
};

// Throws unless all ranks that have a network have the same. `ranks`: whose names these are; empty: ranks 0,
// 1, ...
void checkSameNetwork(std::span<const NetworkName> names, std::span<const int> ranks = {});

}  // namespace xylem::comm
