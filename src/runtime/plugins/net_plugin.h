#pragma once
// A net plugin that can be used, or the reason why it cannot.
//
//   const NetPlugin plugin(library, log);                 // throws, with the reason
//   plugin.functions().listen(...)
//
//   const NetPluginChoice choice = chooseNetPlugin({"ofi,ucx", ""}, log);
//   if (choice.plugin) ... else for (const std::string& why : choice.refused) ...

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/plugins/coll_plugin.h"
#include "runtime/plugins/net_functions.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {

class NetPlugin {
 public:
  // Initialises the plugin. Throws if it fails, has no device, or cannot send from host memory.
  NetPlugin(std::shared_ptr<const PluginLibrary> library, const std::shared_ptr<const Logger>& log);
  // The name by which NCCL_NET selects the plugin; for a library that is not initialised yet.
  static std::string nameOf(const PluginLibrary& library);

  const std::string& name() const { return name_; }
  int deviceCount() const { return devices_; }
  transport::NetProperties properties(int device) const;
  NetFunctions& functions() const { return *functions_; }
  // False until an accept of the plugin has returned without a connection: it may wait for one.
  bool acceptReturns() const { return acceptReturns_.load(std::memory_order_relaxed); }
  void noteAcceptReturns() const { acceptReturns_.store(true, std::memory_order_relaxed); }
  // The network that reduces of the same library; null, with the reason in the log, if it has none that can
  // be used. Found and initialised at the first call.
  std::shared_ptr<const CollPlugin> collective(const std::shared_ptr<const Logger>& log) const;

 private:
  void checkDevices();

  std::shared_ptr<const PluginLibrary> library_;
  std::unique_ptr<NetFunctions> functions_;
  std::string name_;
  int devices_ = 0;
  mutable std::atomic<bool> acceptReturns_{false};
  mutable std::once_flag askedCollective_;
  mutable std::shared_ptr<const CollPlugin> collective_;
};

struct NetPluginRequest {
  std::string list;  // NCCL_NET_PLUGIN; empty: the default name
  std::string name;  // of the network (NCCL_NET), ignoring case; empty: any
};
struct NetPluginChoice {
  std::shared_ptr<const NetPlugin> plugin;  // or null
  std::vector<std::string> refused;         // the reasons against each that was tried
};
// Chooses the first plugin of the list that can be used. Each entry is loaded and judged once per process.
NetPluginChoice chooseNetPlugin(const NetPluginRequest& wish, const std::shared_ptr<const Logger>& log);

}  // namespace xylem::plugins
