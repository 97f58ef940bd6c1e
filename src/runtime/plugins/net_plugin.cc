#include "runtime/plugins/net_plugin.h"

#include <strings.h>

#include <map>
#include <mutex>

#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {
namespace {

constexpr const char* kNetPluginWho = "NET/Plugin";
// Up to version 6 two layouts exist under this name: NCCL's, and that of builds for Neuron devices.
constexpr const char* kTwoLayouts = "AWS Libfabric";
constexpr int kOneLayoutFrom = 7;

std::unique_ptr<NetFunctions> netTable(const PluginLibrary& library) {
  const VersionedSymbol found = library.newest(abi::kNetSymbol, abi::kNewestNet, abi::kOldestNet);
  if (found.object == nullptr)
    throw Error(ResultCode::kInvalidUsage, "{} has no {}{} to {}{}", library.name(), abi::kNetSymbol,
                abi::kOldestNet, abi::kNetSymbol, abi::kNewestNet);
  return netFunctions(found.version, found.object);
}

}  // namespace

NetPlugin::NetPlugin(std::shared_ptr<const PluginLibrary> library, const std::shared_ptr<const Logger>& log)
    : library_(std::move(library)),
      log_(pluginLog(log)),
      functions_(netTable(*library_)),
      name_(functions_->name()) {
  if (name_.empty())
    throw Error(ResultCode::kInvalidUsage, "{} has a network without a name", library_->name());
  if (name_ == kTwoLayouts && functions_->version() < kOneLayoutFrom)
    throw Error(ResultCode::kInvalidUsage, "{}: its version {} may have another layout than NCCL's", name_,
                functions_->version());
  const auto alone = oneAtATime();
  requireSuccess(functions_->init(log_, {}, context_), "init", label());
  try {
    check();
  } catch (...) {
    functions_->finalize(context_);
    throw;
  }
  log->info(Subsystem::kInit, "{}: Loaded net plugin {} (v{})", kNetPluginWho, name_, functions_->version());
}

NetPlugin::~NetPlugin() {
  collective_.reset();
  const auto alone = oneAtATime();
  functions_->finalize(context_);
}

void NetPlugin::check() {
  if (const std::string missing = functions_->missing(); !missing.empty())
    throw Error(ResultCode::kInvalidUsage, "{} (v{}) has no function {}", name_, functions_->version(),
                missing);
  requireSuccess(functions_->devices(devices_), "devices", label());
  checkDeviceCount(name_, devices_);
  checkDevices();
}

NetUse::NetUse(std::shared_ptr<const NetPlugin> plugin, const NetUser& user)
    : plugin_(std::move(plugin)), user_(user) {
  NetFunctions& functions = plugin_->functions();
  if (!functions.hasContexts()) return;
  const auto alone = oneAtATime();
  requireSuccess(functions.init(plugin_->log_, user_, context_), "init", plugin_->label());
}

NetUse::~NetUse() {
  if (!plugin_->functions().hasContexts()) return;
  const auto alone = oneAtATime();
  plugin_->functions().finalize(context_);
}

std::string NetPlugin::nameOf(const PluginLibrary& library) { return netTable(library)->name(); }

void NetPlugin::checkDevices() {
  for (int device = 0; device < devices_; ++device) {
    transport::NetProperties read;
    int type = abi::kHostNetDevice;
    requireSuccess(functions_->properties(device, read, type), "getProperties", label());
    if (type != abi::kHostNetDevice)
      throw Error(ResultCode::kInvalidUsage, "{}: device {} ({}) moves data by a GPU (type {})", name_,
                  device, read.name, type);
    checkProperties(name_, device, Carries::kMessages, read);
  }
}

std::shared_ptr<const CollPlugin> NetPlugin::collective(const std::shared_ptr<const Logger>& log) const {
  std::call_once(askedCollective_, [&] {
    try {
      collective_ = std::make_shared<CollPlugin>(library_, log);
    } catch (const Error& error) {
      log->info(Subsystem::kInit, "{}: no CollNet: {}", kNetPluginWho, error.what());
    }
  });
  return collective_;
}

transport::NetProperties NetPlugin::properties(int device) const {
  transport::NetProperties read;
  int type = 0;
  requireSuccess(functions_->properties(device, read, type), "getProperties", label());
  return read;
}

namespace {

// The libraries that were loaded, and the reasons against them, for as long as the process lives.
class Known {
 public:
  NetPluginChoice choose(const NetPluginRequest& wish, const std::shared_ptr<const Logger>& log) {
    const std::lock_guard lock(mutex_);
    NetPluginChoice choice;
    for (const std::string& value : pluginEntries(wish.list)) {
      Entry& entry = find(value, *log);
      if (!entry.library) continue;
      consider(entry, wish.name, log);
      choice.plugin = entry.matches(wish.name) ? entry.plugin : nullptr;
      if (choice.plugin) break;
      choice.refused.push_back(entry.reason);
    }
    return choice;
  }

 private:
  struct Entry {
    std::shared_ptr<const PluginLibrary> library;
    std::string name;
    std::shared_ptr<const NetPlugin> plugin;
    bool tried = false;
    std::string reason;

    bool matches(const std::string& wanted) const {
      return wanted.empty() || strcasecmp(wanted.c_str(), name.c_str()) == 0;
    }
  };

  Entry& find(const std::string& value, const Logger& log) {
    Entry& entry = entries_[value];
    if (!entry.library) entry.library = PluginLibrary::find({kNetPluginWho, kNetPrefix, value}, log);
    return entry;
  }

  // Initialises the plugin, unless it has another name than the one that is asked for.
  static void consider(Entry& entry, const std::string& wanted, const std::shared_ptr<const Logger>& log) {
    if (entry.tried) return;
    try {
      entry.name = NetPlugin::nameOf(*entry.library);
      entry.reason = fmt::format("{} is called {}", entry.library->name(), entry.name);
      if (!entry.matches(wanted)) return;
      entry.tried = true;
      entry.plugin = std::make_shared<NetPlugin>(entry.library, log);
    } catch (const Error& error) {
      entry.tried = true;
      entry.reason = error.what();
      log->info(Subsystem::kInit, "{}: refused: {}", kNetPluginWho, entry.reason);
    }
  }

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace

NetPluginChoice chooseNetPlugin(const NetPluginRequest& wish, const std::shared_ptr<const Logger>& log) {
  static Known& known =
      *std::make_unique<Known>().release();  // never destroyed: what plugins need may be gone by then
  return known.choose(wish, log);
}

}  // namespace xylem::plugins
