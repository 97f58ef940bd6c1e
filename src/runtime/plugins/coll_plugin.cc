#include "runtime/plugins/coll_plugin.h"

#include "runtime/plugins/plugin_log.h"
#include "runtime/plugins/plugin_result.h"

namespace xylem {
namespace {

std::unique_ptr<CollFunctions> collTable(const PluginLibrary& library) {
  const VersionedSymbol found = library.newest(abi::kCollNetSymbol, abi::kNewestCollNet, abi::kOldestCollNet);
  if (found.object == nullptr)
    throw Error(ResultCode::kInvalidUsage, "{} has no {}{} to {}{}", library.name(), abi::kCollNetSymbol,
                abi::kOldestCollNet, abi::kCollNetSymbol, abi::kNewestCollNet);
  return collFunctions(found.version, found.object);
}

}  // namespace

CollPlugin::CollPlugin(std::shared_ptr<const PluginLibrary> library, const std::shared_ptr<const Logger>& log)
    : library_(std::move(library)), functions_(collTable(*library_)), name_(functions_->name()) {
  requireSuccess(functions_->init(pluginLog(log)), "init", name_);
  requireSuccess(functions_->devices(devices_), "devices", name_);
  if (devices_ <= 0) throw Error(ResultCode::kInvalidUsage, "{} has no devices", name_);
  if (const std::string missing = functions_->missing(); !missing.empty())
    throw Error(ResultCode::kInvalidUsage, "{} (v{}) has no function {}", name_, functions_->version(),
                missing);
  checkDevices();
  log->info(Subsystem::kInit, "NET/Plugin: Loaded collnet plugin {} (v{})", name_, functions_->version());
}

void CollPlugin::checkDevices() {
  for (int device = 0; device < devices_; ++device) {
    const NetProperties read = properties(device);
    if ((read.pointers & kHostPointer) == 0)
      throw Error(ResultCode::kInvalidUsage, "{}: device {} ({}) takes no host memory", name_, device,
                  read.name);
    if (read.maxBytes == 0 || read.maxBytes > abi::kMostBytes)
      throw Error(ResultCode::kInvalidUsage, "{}: device {} ({}) says that reductions have {} bytes at most",
                  name_, device, read.name, read.maxBytes);
  }
}

NetProperties CollPlugin::properties(int device) const {
  NetProperties read;
  requireSuccess(functions_->properties(device, read), "getProperties", name_);
  return read;
}

bool CollPlugin::reduces(DataType type, ReduceOp op) const {
  bool answer = false;
  return functions_->reduces(type, op, answer) == abi::kSuccess && answer;
}

}  // namespace xylem
