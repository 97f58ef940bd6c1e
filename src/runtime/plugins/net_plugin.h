#pragma once
// A net plugin that can be used, or the reason why not.
//
//   const NetPlugin plugin(library, log);                 // throws, with the reason
//   plugin.functions().listen(...)
//
//   const NetPluginChoice choice = chooseNetPlugin({"ofi,ucx", ""}, log);   // once per process and entry
//   if (choice.plugin) ... else for (const std::string& why : choice.refused) ...

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/plugins/coll_plugin.h"
#include "runtime/plugins/net_functions.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem {

class NetPlugin {
 public:
  // Initialises it. Throws if it cannot serve: it says so, has no device, or wants what host memory has not.
  NetPlugin(std::shared_ptr<const PluginLibrary> library, const std::shared_ptr<const Logger>& log);
  // Whether it is called so (NCCL_NET); as long as it has not been initialised.
  static std::string nameOf(const PluginLibrary& library);

  const std::string& name() const { return name_; }
  int deviceCount() const { return devices_; }
  NetProperties properties(int device) const;
  NetFunctions& functions() const { return *functions_; }
  // What its library has for networks that reduce; null if nothing there serves, and the log says why. Looked
  // for and initialised when first asked for.
  std::shared_ptr<const CollPlugin> collective(const std::shared_ptr<const Logger>& log) const;

 private:
  void checkDevices();

  std::shared_ptr<const PluginLibrary> library_;
  std::unique_ptr<NetFunctions> functions_;
  std::string name_;
  int devices_ = 0;
  mutable std::once_flag askedCollective_;
  mutable std::shared_ptr<const CollPlugin> collective_;
};

struct NetPluginWish {
  std::string list;  // NCCL_NET_PLUGIN; empty: the default name
  std::string name;  // of the network (NCCL_NET), ignoring case; empty: any
};
struct NetPluginChoice {
  std::shared_ptr<const NetPlugin> plugin;  // null: none
  std::vector<std::string> refused;         // reasons
};
// The first of the list that serves. What was found once stays, and so does what was refused.
NetPluginChoice chooseNetPlugin(const NetPluginWish& wish, const std::shared_ptr<const Logger>& log);

}  // namespace xylem
