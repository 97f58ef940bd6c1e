#pragma once
// A network that a net plugin made for NCCL provides.
//
//   PluginNetwork network(chooseNetPlugin({"ofi", ""}, log).plugin);
//   network.name()                                        // as the plugin calls itself
//
// Memory has to be registered before it is sent from or received into. Requests and registered memory are the
// plugin's own pointers, which nobody looks behind.

#include "runtime/plugins/net_plugin.h"

namespace xylem {

class PluginNetwork : public Network {
 public:
  explicit PluginNetwork(std::shared_ptr<const NetPlugin> plugin) : plugin_(std::move(plugin)) {}

  std::string_view name() const override { return plugin_->name(); }
  int deviceCount() const override { return plugin_->deviceCount(); }
  NetProperties properties(int device) const override { return plugin_->properties(device); }
  std::unique_ptr<NetListener> listen(int device) override;
  std::unique_ptr<NetCaller> call(int device, const NetHandle& handle) override;

 private:
  std::shared_ptr<const NetPlugin> plugin_;
};

}  // namespace xylem
