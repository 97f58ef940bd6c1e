#include "runtime/plugins/coll_plugin.h"

#include <climits>
#include <utility>
#include <vector>

#include "runtime/plugins/net_functions.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {
namespace {

template <int V>
class VersionedColl final : public CollFunctions {
  using Types = abi::CollNetTypes<V>;

 public:
  explicit VersionedColl(const abi::CollNet<V>& table) : table_(table) {}

  int version() const override { return V; }
  std::string name() const override { return textOf(table_.name); }

  bool hasContexts() const override { return V >= 11; }

  abi::Result init(abi::LogFunction log, std::uint64_t communicator, void*& context) override {
    context = nullptr;
    if (table_.init == nullptr)
      throw Error(ResultCode::kInvalidUsage, "{} (v{}) has no function init", name(), V);
    if constexpr (V >= 11)
      return table_.init(&context, communicator, log);
    else
      return table_.init(log);
  }

  void finalize(void* context) override {
    if constexpr (V >= 11)
      if (table_.tail.finalize != nullptr) table_.tail.finalize(context);
  }

  abi::Result devices(int& count) override {
    count = 0;
    if (table_.devices == nullptr)
      throw Error(ResultCode::kInvalidUsage, "{} (v{}) has no function devices", name(), V);
    return table_.devices(&count);
  }

  std::string missing() const override {
    const std::pair<const char*, bool> needed[] = {
        {"getProperties", table_.getProperties != nullptr},
        {"listen", table_.listen != nullptr},
        {"connect", table_.connect != nullptr},
        {"reduceSupport", table_.reduceSupport != nullptr},
        {"regMr", table_.regMr != nullptr},
        {"deregMr", table_.deregMr != nullptr},
        {"iallreduce", table_.iallreduce != nullptr},
        {"test", table_.test != nullptr},
        {"closeColl", table_.closeColl != nullptr},
        {"closeListen", table_.closeListen != nullptr},
    };
    for (const auto& [function, there] : needed)
      if (!there) return function;
    return {};
  }

  abi::Result properties(int device, transport::NetProperties& properties) override {
    int type = 0;  // unused, as older plugins leave it unwritten: these networks reduce data of the host
    return readProperties<V>(table_.getProperties, device, Carries::kReductions, properties, type);
  }

  abi::Result listen(void* context, int device, transport::NetHandle& handle, void*& comm) override {
    comm = nullptr;
    if constexpr (V >= 11)
      return table_.listen(context, device, handle.data(), &comm);
    else
      return table_.listen(device, handle.data(), &comm);
  }

  abi::Result connect(std::span<transport::NetHandle> handles, int self, void* listening,
                      void*& comm) override {
    std::vector<void*> places;
    for (transport::NetHandle& handle : handles) places.push_back(handle.data());
    comm = nullptr;
    return table_.connect(places.data(), static_cast<int>(places.size()), self, listening, &comm);
  }

  abi::Result reduces(DataType type, ReduceOp op, bool& answer) override {
    int supported = 0;
    const abi::Result result = table_.reduceSupport(static_cast<int>(type), static_cast<int>(op), &supported);
    answer = supported != 0;
    return result;
  }

  abi::Result registerMemory(void* comm, void* data, std::size_t bytes, int kind, void*& memory) override {
    memory = nullptr;
    if (V < 8 && bytes > INT_MAX) return abi::kInternalError;
    return table_.regMr(comm, data, static_cast<typename Types::RegisteredSize>(bytes), kind, &memory);
  }
  abi::Result deregisterMemory(void* comm, void* memory) override { return table_.deregMr(comm, memory); }

  abi::Result iallreduce(void* comm, void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                         void* inMemory, void* outMemory, void*& request) override {
    request = nullptr;
    if (V < 9 && count > INT_MAX) return abi::kInternalError;
    return table_.iallreduce(comm, in, out, static_cast<typename Types::Count>(count), static_cast<int>(type),
                             static_cast<int>(op), inMemory, outMemory, &request);
  }

  bool gathers() const override {
    if constexpr (V >= 8) return table_.middle.iallgather != nullptr;
    return false;
  }
  bool scatters() const override {
    if constexpr (V >= 8) return table_.middle.ireducescatter != nullptr;
    return false;
  }

  abi::Result iallgather(void* comm, const std::byte* in, std::span<const transport::CollPart> out,
                         void* inMemory, void* outMemory, void*& request) override {
    request = nullptr;
    if constexpr (V >= 8) {
      std::vector<typename Types::Part> parts = partsOf(out, outMemory);
      const std::size_t bytes = out.front().bytes;
      return table_.middle.iallgather(comm, const_cast<std::byte*>(in), static_cast<int>(parts.size()),
                                      parts.data(), bytes, 0, bytes * parts.size(), inMemory, &request);
    }
    return abi::kInternalError;
  }

  abi::Result ireducescatter(void* comm, std::span<const transport::CollPart> in, std::byte* out,
                             DataType type, ReduceOp op, void* inMemory, void* outMemory,
                             void*& request) override {
    request = nullptr;
    if constexpr (V >= 8) {
      std::vector<typename Types::Part> parts = partsOf(in, inMemory);
      const std::size_t bytes = in.front().bytes;
      return table_.middle.ireducescatter(comm, static_cast<int>(parts.size()), parts.data(), out, bytes, 0,
                                          bytes * parts.size(), static_cast<int>(type), static_cast<int>(op),
                                          outMemory, &request);
    }
    return abi::kInternalError;
  }

  abi::Result test(void* request, bool& done) override {
    int answer = 0, size = 0;
    const abi::Result result = table_.test(request, &answer, &size);
    done = answer != 0;
    return result;
  }

  abi::Result closeComm(void* comm) override { return table_.closeColl(comm); }
  abi::Result closeListen(void* comm) override { return table_.closeListen(comm); }

 private:
  static std::vector<typename Types::Part> partsOf(std::span<const transport::CollPart> parts, void* memory) {
    std::vector<typename Types::Part> made;
    for (const transport::CollPart& part : parts)
      made.push_back({memory, part.data, static_cast<typename Types::PartSize>(part.bytes)});
    return made;
  }

  const abi::CollNet<V>& table_;  // in the library; some plugins change it in init
};

template <int V>
std::unique_ptr<CollFunctions> collOfVersion(int version, void* table) {
  if (version == V) return std::make_unique<VersionedColl<V>>(*static_cast<const abi::CollNet<V>*>(table));
  if constexpr (V > abi::kOldestCollNet)
    return collOfVersion<V - 1>(version, table);
  else
    throw Error(ResultCode::kInternalError, "there is no adapter for CollNet plugins of version {}", version);
}

}  // namespace

std::unique_ptr<CollFunctions> collFunctions(int version, void* table) {
  return collOfVersion<abi::kNewestCollNet>(version, table);
}

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
    : library_(std::move(library)),
      log_(pluginLog(log)),
      functions_(collTable(*library_)),
      name_(functions_->name()) {
  const auto alone = oneAtATime();
  requireSuccess(functions_->init(log_, 0, context_), "init", label());
  try {
    check();
  } catch (...) {
    functions_->finalize(context_);
    throw;
  }
  log->info(Subsystem::kInit, "NET/Plugin: Loaded collnet plugin {} (v{})", name_, functions_->version());
}

CollPlugin::~CollPlugin() {
  const auto alone = oneAtATime();
  functions_->finalize(context_);
}

CollUse::CollUse(std::shared_ptr<const CollPlugin> plugin, std::uint64_t communicator)
    : plugin_(std::move(plugin)) {
  CollFunctions& functions = plugin_->functions();
  if (!functions.hasContexts()) return;
  const auto alone = oneAtATime();
  requireSuccess(functions.init(plugin_->log_, communicator, context_), "init", plugin_->label());
}

CollUse::~CollUse() {
  if (!plugin_->functions().hasContexts()) return;
  const auto alone = oneAtATime();
  plugin_->functions().finalize(context_);
}

void CollPlugin::check() {
  requireSuccess(functions_->devices(devices_), "devices", label());
  checkDeviceCount(name_, devices_);
  if (const std::string missing = functions_->missing(); !missing.empty())
    throw Error(ResultCode::kInvalidUsage, "{} (v{}) has no function {}", name_, functions_->version(),
                missing);
  for (int device = 0; device < devices_; ++device)
    checkProperties(name_, device, Carries::kReductions, properties(device));
  checkReductions();
}

// Some plugins fail for what they do not reduce, so that a failure alone is no reason.
void CollPlugin::checkReductions() {
  abi::Result failure = abi::kSuccess;
  for (int type = 0; type < kDataTypes; ++type)
    for (int op = 0; op < static_cast<int>(ReduceOp::kAvg); ++op) {
      bool answer = false;
      const abi::Result result =
          functions_->reduces(static_cast<DataType>(type), static_cast<ReduceOp>(op), answer);
      if (result == abi::kSuccess && answer) return;
      if (result != abi::kSuccess) failure = result;
    }
  requireSuccess(failure, "reduceSupport", label());
  throw Error(ResultCode::kInvalidUsage, "{} reduces no data type with any operator", name_);
}

transport::NetProperties CollPlugin::properties(int device) const {
  transport::NetProperties read;
  requireSuccess(functions_->properties(device, read), "getProperties", label());
  return read;
}

bool CollPlugin::reduces(DataType type, ReduceOp op) const {
  bool answer = false;
  return functions_->reduces(type, op, answer) == abi::kSuccess && answer;
}

}  // namespace xylem::plugins
