#pragma once
// A network that reduces, which a plugin made for NCCL provides.
//
//   if (auto coll = net->collective(log)) PluginCollNetwork network(net, coll);
//
// Every call's failure says which plugin and which call; what breaks a connection is LinkBroken.

#include "runtime/plugins/net_plugin.h"
#include "runtime/transport/collnet/coll_network.h"

namespace xylem {

class PluginCollNetwork : public CollNetwork {
 public:
  PluginCollNetwork(std::shared_ptr<const NetPlugin> net, std::shared_ptr<const CollPlugin> plugin)
      : net_(std::move(net)), plugin_(std::move(plugin)) {}

  std::string_view name() const override { return plugin_->name(); }
  // By its name; both number their devices themselves.
  int deviceBeside(int netDevice) const override;
  NetProperties properties(int device) const override { return plugin_->properties(device); }
  bool reduces(DataType type, ReduceOp op) const override { return plugin_->reduces(type, op); }
  std::unique_ptr<CollListener> listen(int device) override;
  std::unique_ptr<CollLink> connect(std::span<const NetHandle> handles, int self,
                                    CollListener& listener) override;

 private:
  std::shared_ptr<const NetPlugin> net_;
  std::shared_ptr<const CollPlugin> plugin_;
};

}  // namespace xylem
