#include "runtime/plugins/plugin_coll_network.h"

#include "runtime/plugins/plugin_result.h"

namespace xylem {
namespace {

void checkCall(abi::Result result, const char* what, const CollPlugin& plugin) {
  if (result == abi::kSuccess) return;
  const std::string text =
      fmt::format("the reducing network of plugin {}: {}: {}", plugin.name(), what, resultText(result));
  if (breaksLink(result)) throw LinkBroken(false, text);
  throw Error(ResultCode::kSystemError, "{}", text);
}

class PluginCollListener final : public CollListener {
 public:
  PluginCollListener(std::shared_ptr<const CollPlugin> plugin, int device) : plugin_(std::move(plugin)) {
    checkCall(plugin_->functions().listen(device, handle_, listening_), "listen", *plugin_);
    if (listening_ == nullptr)
      throw Error(ResultCode::kSystemError, "the reducing network of plugin {}: listen gave nothing",
                  plugin_->name());
  }
  ~PluginCollListener() override { plugin_->functions().closeListen(listening_); }
  PluginCollListener(const PluginCollListener&) = delete;
  PluginCollListener& operator=(const PluginCollListener&) = delete;

  const NetHandle& handle() const override { return handle_; }
  void* comm() const { return listening_; }

 private:
  std::shared_ptr<const CollPlugin> plugin_;
  alignas(16) NetHandle handle_{};
  void* listening_ = nullptr;
};

class PluginCollLink final : public CollLink {
 public:
  PluginCollLink(std::shared_ptr<const CollPlugin> plugin, void* comm)
      : plugin_(std::move(plugin)), comm_(comm) {}
  ~PluginCollLink() override { coll().closeComm(comm_); }
  PluginCollLink(const PluginCollLink&) = delete;
  PluginCollLink& operator=(const PluginCollLink&) = delete;

  NetMemory* registerMemory(std::byte* data, std::size_t bytes, NetPointer kind) override {
    void* memory = nullptr;
    checkCall(coll().registerMemory(comm_, data, bytes, static_cast<int>(kind), memory), "regMr", *plugin_);
    return static_cast<NetMemory*>(memory);
  }
  void deregisterMemory(NetMemory* memory) override { coll().deregisterMemory(comm_, memory); }

  NetRequest* iallreduce(const std::byte* in, std::byte* out, std::size_t count, DataType type, ReduceOp op,
                         NetMemory* inMemory, NetMemory* outMemory) override {
    void* request = nullptr;
    checkCall(coll().iallreduce(comm_, const_cast<std::byte*>(in), out, count, type, op, inMemory, outMemory,
                                request),
              "iallreduce", *plugin_);
    return static_cast<NetRequest*>(request);
  }
  bool test(NetRequest* request) override {
    bool done = false;
    checkCall(coll().test(request, done), "test", *plugin_);
    return done;
  }

 private:
  CollFunctions& coll() const { return plugin_->functions(); }

  std::shared_ptr<const CollPlugin> plugin_;
  void* comm_;
};

}  // namespace

int PluginCollNetwork::deviceBeside(int netDevice) const {
  const int devices = plugin_->deviceCount();
  if (netDevice >= 0 && netDevice < net_->deviceCount()) {
    const std::string wanted = net_->properties(netDevice).name;
    for (int device = 0; device < devices; ++device)
      if (plugin_->properties(device).name == wanted) return device;
  }
  return std::max(netDevice, 0) % devices;
}

std::unique_ptr<CollListener> PluginCollNetwork::listen(int device) {
  return std::make_unique<PluginCollListener>(plugin_, device);
}

std::unique_ptr<CollLink> PluginCollNetwork::connect(std::span<const NetHandle> handles, int self,
                                                     CollListener& listener) {
  std::vector<NetHandle> own(handles.begin(), handles.end());
  void* comm = nullptr;
  checkCall(plugin_->functions().connect(own, self, static_cast<PluginCollListener&>(listener).comm(), comm),
            "connect", *plugin_);
  if (comm == nullptr)
    throw Error(ResultCode::kSystemError, "the reducing network of plugin {}: connect gave nothing",
                plugin_->name());
  return std::make_unique<PluginCollLink>(plugin_, comm);
}

}  // namespace xylem
