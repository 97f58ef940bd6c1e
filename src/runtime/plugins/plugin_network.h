#pragma once
// Networks that plugins made for NCCL provide: PluginNetwork carries messages, PluginCollNetwork reduces.
//
//   const auto plugin = chooseNetPlugin({"ofi", ""}, log).plugin;
//   PluginNetwork network(plugin, {communicator, trafficClass});
//   if (auto coll = plugin->collective(log)) PluginCollNetwork reducing(plugin, coll, communicator);
//
// Memory must be registered before data is sent from it or received into it. Requests and registered memory
// are the plugin's own pointers. Errors name the plugin and the call; a result that means a broken connection
// becomes LinkBroken.

#include "runtime/plugins/net_plugin.h"
#include "runtime/transport/collnet/coll_network.h"

namespace xylem::plugins {

class PluginNetwork : public transport::Network {
 public:
  explicit PluginNetwork(std::shared_ptr<const NetPlugin> plugin, const NetUser& user = {})
      : use_(std::make_shared<const NetUse>(std::move(plugin), user)) {}

  std::string_view name() const override { return use_->plugin().name(); }
  int deviceCount() const override { return use_->plugin().deviceCount(); }
  transport::NetProperties properties(int device) const override { return use_->plugin().properties(device); }
  std::unique_ptr<transport::NetListener> listen(int device) override;
  std::unique_ptr<transport::NetConnector> call(int device, const transport::NetHandle& handle) override;

 private:
  std::shared_ptr<const NetUse> use_;
};

class PluginCollNetwork : public transport::CollNetwork {
 public:
  PluginCollNetwork(std::shared_ptr<const NetPlugin> net, std::shared_ptr<const CollPlugin> plugin,
                    std::uint64_t communicator = 0)
      : net_(std::move(net)), plugin_(std::move(plugin)), communicator_(communicator) {}

  std::string_view name() const override { return plugin_->name(); }
  // Finds the device by its name, as the two networks number their devices independently.
  int deviceBeside(int netDevice) const override;
  transport::NetProperties properties(int device) const override { return plugin_->properties(device); }
  bool reduces(DataType type, ReduceOp op) const override { return plugin_->reduces(type, op); }
  bool gathers() const override { return plugin_->functions().gathers(); }
  bool scatters() const override { return plugin_->functions().scatters(); }
  std::unique_ptr<transport::CollListener> listen(int device) override;
  std::unique_ptr<transport::CollLink> connect(std::span<const transport::NetHandle> handles, int self,
                                               transport::CollListener& listener) override;

 private:
  std::shared_ptr<const NetPlugin> net_;
  std::shared_ptr<const CollPlugin> plugin_;
  const std::uint64_t communicator_;
  std::shared_ptr<const CollUse> use_;  // from the first listen() on
};

}  // namespace xylem::plugins
