#pragma once
// What a net plugin's library has for networks that reduce (CollNet), or the reason why it does not serve.
//
//   const CollPlugin plugin(library, log);                 // throws, with the reason
//   if (plugin.reduces(DataType::kFloat32, ReduceOp::kSum)) plugin.functions().listen(...)
//
// NetPlugin::collective has the one of its library.

#include <memory>
#include <string>

#include "runtime/plugins/coll_functions.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem {

class CollPlugin {
 public:
  // Initialises it, after the net plugin of its library.
  CollPlugin(std::shared_ptr<const PluginLibrary> library, const std::shared_ptr<const Logger>& log);

  const std::string& name() const { return name_; }
  int deviceCount() const { return devices_; }
  NetProperties properties(int device) const;
  bool reduces(DataType type, ReduceOp op) const;
  CollFunctions& functions() const { return *functions_; }

 private:
  void checkDevices();

  std::shared_ptr<const PluginLibrary> library_;
  std::unique_ptr<CollFunctions> functions_;
  std::string name_;
  int devices_ = 0;
};

}  // namespace xylem
