#include "runtime/plugins/coll_functions.h"

#include <climits>
#include <utility>
#include <vector>

#include "runtime/plugins/net_properties.h"

namespace xylem {
namespace {

template <int V>
class VersionedColl final : public CollFunctions {
  using Types = abi::CollNetTypes<V>;

 public:
  explicit VersionedColl(const abi::CollNet<V>& table) : table_(table) {}

  int version() const override { return V; }
  std::string name() const override { return textOf(table_.name); }

  abi::Result init(abi::LogFunction log) override {
    return table_.init == nullptr ? abi::kInternalError : table_.init(log);
  }

  abi::Result devices(int& count) override {
    count = 0;
    return table_.devices == nullptr ? abi::kInternalError : table_.devices(&count);
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

  abi::Result properties(int device, NetProperties& properties) override {
    int type = 0;  // older plugins leave it unwritten: what reduces in the network does so from the host
    return readProperties<V>(table_.getProperties, device, Carries::kReductions, properties, type);
  }

  abi::Result listen(int device, NetHandle& handle, void*& comm) override {
    comm = nullptr;
    return table_.listen(device, handle.data(), &comm);
  }

  abi::Result connect(std::span<NetHandle> handles, int self, void* listening, void*& comm) override {
    std::vector<void*> places;
    for (NetHandle& handle : handles) places.push_back(handle.data());
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

  abi::Result test(void* request, bool& done) override {
    int answer = 0, size = 0;
    const abi::Result result = table_.test(request, &answer, &size);
    done = answer != 0;
    return result;
  }

  abi::Result closeComm(void* comm) override { return table_.closeColl(comm); }
  abi::Result closeListen(void* comm) override { return table_.closeListen(comm); }

 private:
  const abi::CollNet<V>& table_;  // of the library; some change it in init
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

}  // namespace xylem
