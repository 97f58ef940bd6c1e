#include "runtime/libfabric/fabric_network.h"

#include "runtime/libfabric/fabric_join.h"

namespace xylem {

FabricNetwork::FabricNetwork(std::vector<FabricDevice> devices)
    : devices_(std::move(devices)), endpoints_(devices_.size()) {}

const FabricDevice& FabricNetwork::at(int device) const {
  if (device < 0 || device >= deviceCount())
    throw Error(ResultCode::kInternalError, "the fabric has no device {}; it has {}", device, deviceCount());
  return devices_[static_cast<std::size_t>(device)];
}

std::shared_ptr<FabricEndpoint> FabricNetwork::endpoint(int device) {
  const FabricDevice& wanted = at(device);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<FabricEndpoint>& endpoint = endpoints_[static_cast<std::size_t>(device)];
  if (!endpoint) endpoint = std::make_shared<FabricEndpoint>(wanted);
  return endpoint;
}

std::unique_ptr<NetListener> FabricNetwork::listen(int device) {
  return std::make_unique<FabricListener>(endpoint(device));
}

std::unique_ptr<NetCaller> FabricNetwork::call(int device, const NetHandle& handle) {
  return std::make_unique<FabricCaller>(endpoint(device), handle);
}

}  // namespace xylem
