#pragma once
// The network that libfabric gives: verbs, EFA and other fabrics, TCP, shared memory.
//
//   FabricNetwork network(findFabricDevices(FabricOptions::from(settings)));
//   network.properties(0).name                            // "mlx5_0"
//
// Messages only go where the receiver has offered room. A listener's handle carries a random number, without
// which nobody is let in; beyond that it is the fabric that says who may send to an endpoint and who may read
// what is sent.

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/libfabric/fabric_endpoint.h"

namespace xylem {

class FabricNetwork : public Network {
 public:
  explicit FabricNetwork(std::vector<FabricDevice> devices);

  std::string_view name() const override { return "Fabric"; }
  int deviceCount() const override { return static_cast<int>(devices_.size()); }
  NetProperties properties(int device) const override { return at(device).properties; }
  std::optional<SocketAddress> address(int device) const override { return at(device).address; }
  std::unique_ptr<NetListener> listen(int device) override;
  std::unique_ptr<NetCaller> call(int device, const NetHandle& handle) override;

 private:
  const FabricDevice& at(int device) const;
  // Opened when first used.
  std::shared_ptr<FabricEndpoint> endpoint(int device);

  std::vector<FabricDevice> devices_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<FabricEndpoint>> endpoints_;
};

}  // namespace xylem
