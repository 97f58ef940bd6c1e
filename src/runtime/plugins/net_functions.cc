#include "runtime/plugins/net_functions.h"

#include <array>
#include <climits>

namespace xylem::plugins {
namespace {

// This version of NCCL reports no events of networks. Plugins recognise that by a handle that stays as it
// was.
abi::Result noEvents(void**, int, void*, std::int64_t, void*) { return abi::kSuccess; }

template <int V>
class VersionedNet final : public NetFunctions {
 public:
  explicit VersionedNet(const abi::Net<V>& table) : table_(table) {}

  int version() const override { return V; }
  std::string name() const override { return textOf(table_.name); }

  bool hasContexts() const override { return V >= 11; }

  abi::Result init(abi::LogFunction log, const NetUser& user, void*& context) override {
    context = nullptr;
    if (table_.init == nullptr)
      throw Error(ResultCode::kInvalidUsage, "{} (v{}) has no function init", name(), V);
    if constexpr (V >= 11) {
      abi::CommConfig config{user.trafficClass};
      return table_.init(&context, user.communicator, &config, log, noEvents);
    } else if constexpr (V >= 10)
      return table_.init(log, noEvents);
    else
      return table_.init(log);
  }

  void finalize(void* context) override {
    if constexpr (V >= 11)
      if (table_.tail.finalize != nullptr) table_.tail.finalize(context);
  }

  std::string missing() const override {
    const std::pair<const char*, bool> needed[] = {
        {"devices", table_.devices != nullptr},
        {"getProperties", table_.getProperties != nullptr},
        {"listen", table_.listen != nullptr},
        {"connect", table_.connect != nullptr},
        {"accept", table_.accept != nullptr},
        {"regMr", table_.regMr != nullptr},
        {"deregMr", table_.deregMr != nullptr},
        {"isend", table_.isend != nullptr},
        {"irecv", table_.irecv != nullptr},
        {"test", table_.test != nullptr},
        {"closeSend", table_.closeSend != nullptr},
        {"closeRecv", table_.closeRecv != nullptr},
        {"closeListen", table_.closeListen != nullptr},
    };
    for (const auto& [function, there] : needed)
      if (!there) return function;
    return {};
  }

  abi::Result devices(int& count) override {
    count = 0;
    return table_.devices(&count);
  }

  abi::Result properties(int device, transport::NetProperties& properties, int& deviceType) override {
    const abi::Result result =
        readProperties<V>(table_.getProperties, device, Carries::kMessages, properties, deviceType);
    if (table_.regMrDmaBuf == nullptr) properties.pointers &= ~transport::kDmaBufPointer;
    properties.flushes = table_.iflush != nullptr;
    return result;
  }

  abi::Result listen(void* context, int device, transport::NetHandle& handle, void*& comm) override {
    comm = nullptr;
    if constexpr (V >= 11)
      return table_.listen(context, device, handle.data(), &comm);
    else
      return table_.listen(device, handle.data(), &comm);
  }

  abi::Result connect(void* context, const NetUser& user, int device, transport::NetHandle& handle,
                      void*& comm) override {
    comm = nullptr;
    abi::DeviceHandle* offload = nullptr;
    if constexpr (V >= 11) {
      return table_.connect(context, device, handle.data(), &comm, &offload);
    } else if constexpr (V == 10) {
      abi::CommConfig config{user.trafficClass};
      return table_.connect(device, &config, handle.data(), &comm, &offload);
    } else if constexpr (V >= 7) {
      return table_.connect(device, handle.data(), &comm, &offload);
    } else {
      return table_.connect(device, handle.data(), &comm);
    }
  }

  abi::Result accept(void* listening, void*& comm) override {
    comm = nullptr;
    abi::DeviceHandle* offload = nullptr;
    if constexpr (V >= 7)
      return table_.accept(listening, &comm, &offload);
    else
      return table_.accept(listening, &comm);
  }

  abi::Result registerMemory(void* comm, void* data, std::size_t bytes, int kind, void*& memory) override {
    using Size = typename abi::NetTypes<V>::RegisteredSize;
    memory = nullptr;
    if (V < 8 && bytes > INT_MAX) return abi::kInternalError;
    return table_.regMr(comm, data, static_cast<Size>(bytes), kind, &memory);
  }

  abi::Result registerDmaBuf(void* comm, void* data, std::size_t bytes, int dmaBuf, void*& memory) override {
    memory = nullptr;
    return table_.regMrDmaBuf(comm, data, bytes, abi::kPtrCuda, 0, dmaBuf, &memory);
  }

  abi::Result deregisterMemory(void* comm, void* memory) override { return table_.deregMr(comm, memory); }

  abi::Result isend(void* comm, void* data, std::size_t bytes, int tag, void* memory,
                    void*& request) override {
    request = nullptr;
    const auto size = static_cast<typename abi::NetTypes<V>::Size>(bytes);
    if constexpr (V >= 10)
      return table_.isend(comm, data, size, tag, memory, nullptr, &request);
    else
      return table_.isend(comm, data, size, tag, memory, &request);
  }

  abi::Result irecv(void* comm, std::span<const transport::NetBuffer> buffers, void*& request) override {
    std::array<void*, kMaxBuffers> data, memory, events{};
    std::array<typename abi::NetTypes<V>::Size, kMaxBuffers> sizes;
    std::array<int, kMaxBuffers> tags;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      data[i] = buffers[i].data;
      memory[i] = buffers[i].memory;
      sizes[i] = static_cast<typename abi::NetTypes<V>::Size>(buffers[i].bytes);
      tags[i] = pluginTag(buffers[i].tag);
    }
    request = nullptr;
    const auto n = static_cast<int>(buffers.size());
    if constexpr (V >= 10)
      return table_.irecv(comm, n, data.data(), sizes.data(), tags.data(), memory.data(), events.data(),
                          &request);
    else
      return table_.irecv(comm, n, data.data(), sizes.data(), tags.data(), memory.data(), &request);
  }

  abi::Result iflush(void* comm, std::span<const transport::NetBuffer> buffers, void*& request) override {
    std::array<void*, kMaxBuffers> data, memory;
    std::array<int, kMaxBuffers> sizes;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      data[i] = buffers[i].data;
      memory[i] = buffers[i].memory;
      sizes[i] = static_cast<int>(buffers[i].bytes);
    }
    request = nullptr;
    if (table_.iflush == nullptr) return abi::kSuccess;
    return table_.iflush(comm, static_cast<int>(buffers.size()), data.data(), sizes.data(), memory.data(),
                         &request);
  }

  abi::Result test(void* request, bool& done, int* sizes) override {
    int answer = 0;
    const abi::Result result = table_.test(request, &answer, sizes);
    done = answer != 0;
    return result;
  }

  abi::Result closeSend(void* comm) override { return table_.closeSend(comm); }
  abi::Result closeReceive(void* comm) override { return table_.closeRecv(comm); }
  abi::Result closeListen(void* comm) override { return table_.closeListen(comm); }

 private:
  const abi::Net<V>& table_;  // in the library; some plugins change it in init
};

template <int V>
std::unique_ptr<NetFunctions> ofVersion(int version, void* table) {
  if (version == V) return std::make_unique<VersionedNet<V>>(*static_cast<const abi::Net<V>*>(table));
  if constexpr (V > abi::kOldestNet)
    return ofVersion<V - 1>(version, table);
  else
    throw Error(ResultCode::kInternalError, "there is no adapter for net plugins of version {}", version);
}

}  // namespace

std::unique_ptr<NetFunctions> netFunctions(int version, void* table) {
  return ofVersion<abi::kNewestNet>(version, table);
}

void checkDeviceCount(const std::string& plugin, int devices) {
  if (devices <= 0) throw Error(ResultCode::kInvalidUsage, "{} has no devices", plugin);
  if (devices > abi::kMaxDevices)
    throw Error(ResultCode::kInvalidUsage, "{} says that it has {} devices; up to {} are possible", plugin,
                devices, abi::kMaxDevices);
}

void checkProperties(const std::string& plugin, int device, Carries what,
                     const transport::NetProperties& properties) {
  const std::string& name = properties.name;
  if (name.empty()) throw Error(ResultCode::kInvalidUsage, "{}: device {} has no name", plugin, device);
  if (name.size() > abi::kMaxDeviceName)
    throw Error(ResultCode::kInvalidUsage, "{}: device {} has a name of {} characters; up to {} are possible",
                plugin, device, name.size(), abi::kMaxDeviceName);
  if ((properties.pointers & transport::kHostPointer) == 0)
    throw Error(ResultCode::kInvalidUsage, "{}: device {} ({}) takes no host memory", plugin, device, name);
  if (properties.speed > abi::kMaxSpeed)
    throw Error(ResultCode::kInvalidUsage,
                "{}: device {} ({}) says that its speed is {} Mbit/s; up to {} are possible", plugin, device,
                name, properties.speed, abi::kMaxSpeed);
  if (properties.maxBytes == 0 || properties.maxBytes > abi::kMaxBytes)
    throw Error(ResultCode::kInvalidUsage, "{}: device {} ({}) says that {} have {} bytes at most", plugin,
                device, name, what == Carries::kMessages ? "messages" : "reductions", properties.maxBytes);
}

}  // namespace xylem::plugins
