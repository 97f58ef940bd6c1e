#pragma once
// A net plugin that can be used, or the reason why it cannot.
//
//   const auto plugin = std::make_shared<const NetPlugin>(library, log);   // throws, with the reason
//   const NetUse use(plugin, {.communicator = id});                        // a communicator's
//   plugin->functions().listen(use.context(), ...)
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
  // Initialises the plugin, for no communicator yet. Throws if it fails, has no device, or cannot send from host memory.
  NetPlugin(std::shared_ptr<const PluginLibrary> library, const std::shared_ptr<const Logger>& log);
  ~NetPlugin();
  NetPlugin(const NetPlugin&) = delete;
  NetPlugin& operator=(const NetPlugin&) = delete;
  // The name by which NCCL_NET selects the plugin; for a library that is not initialised yet.
  static std::string nameOf(const PluginLibrary& library);

  const std::string& name() const { return name_; }
  // For errors: `net plugin Test`.
  std::string label() const { return "net plugin " + name_; }
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
  friend class NetUse;
  void check();
  void checkDevices();

  std::shared_ptr<const PluginLibrary> library_;
  const abi::LogFunction log_;
  std::unique_ptr<NetFunctions> functions_;
  std::string name_;
  void* context_ = nullptr;  // in which its devices are listed
  int devices_ = 0;
  mutable std::atomic<bool> acceptReturns_{false};
  mutable std::once_flag askedCollective_;
  mutable std::shared_ptr<const CollPlugin> collective_;
};

// A communicator's use of a plugin, which has a context for it if it has contexts.
class NetUse {
 public:
  // Throws if the plugin makes no context.
  NetUse(std::shared_ptr<const NetPlugin> plugin, const NetUser& user);
  ~NetUse();
  NetUse(const NetUse&) = delete;
  NetUse& operator=(const NetUse&) = delete;

  const NetPlugin& plugin() const { return *plugin_; }
  const NetUser& user() const { return user_; }
  void* context() const { return context_; }

 private:
  const std::shared_ptr<const NetPlugin> plugin_;
  const NetUser user_;
  void* context_ = nullptr;
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
