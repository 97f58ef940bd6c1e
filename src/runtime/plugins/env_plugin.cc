#include "runtime/plugins/env_plugin.h"

#include <nccl.h>

#include <memory>
#include <mutex>
#include <string>

#include "core/log.h"
#include "runtime/plugins/abi.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {
namespace {

constexpr const char* kVariable = "NCCL_ENV_PLUGIN";
constexpr const char* kSuffix = "xylem";  // behind the numbers of the version

class EnvPlugin {
 public:
  EnvPlugin(std::shared_ptr<const PluginLibrary> library, VersionedSymbol table,
            std::shared_ptr<const Logger> log)
      : library_(std::move(library)) {
    if (table.version == 1)
      start<abi::EnvV1>(table,
                        [](const auto& init) { return init(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH, kSuffix); });
    else
      start<abi::EnvV2>(table, [&](const auto& init) {
        return init(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH, kSuffix, pluginLog(log));
      });
    log->info(Subsystem::kInit, "ENV/Plugin: Loaded env plugin {} (v{})", name_, table.version);
  }
  ~EnvPlugin() {
    if (finalize_ != nullptr) finalize_();
  }
  EnvPlugin(const EnvPlugin&) = delete;
  EnvPlugin& operator=(const EnvPlugin&) = delete;

  const std::string& name() const { return name_; }
  const char* answer(const char* variable) const { return getEnv_(variable); }

 private:
  template <typename Table, typename Init>
  void start(const VersionedSymbol& found, const Init& init) {
    const Table& table = *static_cast<const Table*>(found.object);
    name_ = nameOf(table.name);
    const std::string label = fmt::format("{}={}: env plugin {}", kVariable, library_->name(), name_);
    requireFunctions(label, found.version,
                     {{"init", table.init != nullptr}, {"getEnv", table.getEnv != nullptr}});
    requireSuccess(init(table.init), "init", label);
    finalize_ = table.finalize;
    getEnv_ = table.getEnv;
  }

  std::shared_ptr<const PluginLibrary> library_;
  std::string name_;
  abi::Result (*finalize_)() = nullptr;
  const char* (*getEnv_)(const char*) = nullptr;
};

std::unique_ptr<EnvPlugin> load() {
  const Settings settings = Settings::fromEnvironment();
  const std::string& value = settings.text(Setting::kEnvPlugin);
  if (value.empty() || settings.origin(Setting::kEnvPlugin) != "environment") return nullptr;
  auto log = std::make_shared<const Logger>(settings);
  const auto library = PluginLibrary::find({"ENV/Plugin", "libnccl-env", value}, *log);
  if (!library) return nullptr;
  const VersionedSymbol table = library->newest(abi::kEnvSymbol, abi::kNewestEnv, abi::kOldestEnv);
  if (table.object == nullptr) {
    log->info(Subsystem::kInit, "ENV/Plugin: {} has no {}{} or {}{}", library->name(), abi::kEnvSymbol,
              abi::kNewestEnv, abi::kEnvSymbol, abi::kOldestEnv);
    return nullptr;
  }
  return std::make_unique<EnvPlugin>(library, table, log);
}

// Answers stay valid until the next question for the same variable, so one thread asks at a time.
std::mutex& asking() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Settings settingsOfProcess() {
  Settings settings = Settings::fromEnvironment();
  const std::lock_guard lock(asking());
  static const std::unique_ptr<EnvPlugin> plugin = load();
  if (plugin)
    settings.takeAnswers([](const char* name) { return plugin->answer(name); }, "plugin " + plugin->name());
  return settings;
}

}  // namespace xylem::plugins
