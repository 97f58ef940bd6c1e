#pragma once
// Which network a communicator uses between hosts, by NCCL's rules: the first that serves, of net plugins
// (NCCL_NET_PLUGIN) and sockets; or the one that NCCL_NET or the communicator's configuration names, which
// may be libfabric's, too.
//
//   const NetworkChoice choice = NetworkChoice::of(settings, config.netName, log);
//   auto network = choice.make(secret, settings, *log);      // throws if there is none, and says why
//
// The choice itself does not throw, so that a rank without a network can tell the others.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/plugins/net_plugin.h"
#include "planner/topology/detect_net_device.h"
#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/net/network.h"
#include "runtime/sockets/secret.h"

namespace xylem {

struct FabricDevice;

// What ranks tell each other, since one network does not talk to another.
using NetworkName = std::array<char, 32>;

class NetworkChoice {
 public:
  static NetworkChoice of(const Settings& settings, const std::string& asked,
                          const std::shared_ptr<const Logger>& log);

  std::unique_ptr<Network> make(const Secret& secret, const Settings& settings, const Logger& log) const;
  // For the description of this host; nothing where the interfaces stand for themselves.
  std::optional<std::vector<NetDevice>> devices() const;
  // Empty if there is none.
  NetworkName name() const;
  // The one beside it that reduces, if NCCL_COLLNET_ENABLE asks for it and the plugin has one; else null.
  std::shared_ptr<CollNetwork> reducing() const;
  // Whether the interfaces are the network.
  bool sockets() const { return kind_ == Kind::kSocket; }

 private:
  enum class Kind { kNone, kPlugin, kSocket, kFabric };
  void takeFabric(const Settings& settings, const Logger& log);
  std::vector<NetProperties> properties() const;
  Kind kind_ = Kind::kNone;
  std::string reason_;  // why there is none
  std::shared_ptr<const NetPlugin> plugin_;
  std::shared_ptr<const CollPlugin> collective_;
  std::shared_ptr<const std::vector<FabricDevice>> fabric_;
};

// Throws unless all use the same, or none yet; `ranks`: who they are, all ranks of the job if empty.
void checkSameNetwork(std::span<const NetworkName> names, std::span<const int> ranks = {});

}  // namespace xylem
