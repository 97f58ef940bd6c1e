#pragma once
// The network of libfabric: verbs, EFA and other fabrics, TCP, shared memory.
//
//   FabricNetwork network(findFabricDevices(FabricOptions::from(settings)));
//   network.properties(0).name                            // "mlx5_0"
//
// A sender sends only for credits of the receiver (fabric_link.h). The handle of a listener contains a
// random number, and a connector that does not know it is not accepted. Beyond that, the fabric decides
// which hosts may send to an endpoint and read its messages.

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/libfabric/fabric_endpoint.h"

namespace xylem::libfabric {

class FabricNetwork : public transport::Network {
 public:
  explicit FabricNetwork(std::vector<FabricDevice> devices);

  std::string_view name() const override { return "Fabric"; }
  int deviceCount() const override { return static_cast<int>(devices_.size()); }
  transport::NetProperties properties(int device) const override { return at(device).properties; }
  std::optional<sockets::SocketAddress> address(int device) const override { return at(device).address; }
  std::unique_ptr<transport::NetListener> listen(int device) override;
  std::unique_ptr<transport::NetConnector> call(int device, const transport::NetHandle& handle) override;

 private:
  const FabricDevice& at(int device) const;
  // The endpoint of a device, opened when first used.
  std::shared_ptr<FabricEndpoint> endpoint(int device);

  std::vector<FabricDevice> devices_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<FabricEndpoint>> endpoints_;
};

}  // namespace xylem::libfabric
