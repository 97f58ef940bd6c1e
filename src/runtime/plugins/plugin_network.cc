#include "runtime/plugins/plugin_network.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "core/per_process.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {
namespace {

// Throws LinkBroken for the results by which plugins report a broken connection.
template <typename Plugin>
void check(abi::Result result, const char* function, const Plugin& plugin) {
  if (breaksLink(result)) throw transport::LinkBroken(false, failureText(plugin.label(), function, result));
  requireSuccess(result, function, plugin.label());
}

// The plugin, and with it the use that is made of it: what is made with a context ends before that.
std::shared_ptr<const NetPlugin> pluginOf(const std::shared_ptr<const NetUse>& use) {
  return {use, &use->plugin()};
}
std::shared_ptr<const CollPlugin> pluginOf(const std::shared_ptr<const CollUse>& use) {
  return {use, &use->plugin()};
}

// A sender or receiver: a comm of the plugin's.
template <typename Base>
class PluginLink : public Base {
 public:
  PluginLink(std::shared_ptr<const NetPlugin> plugin, int device, void* comm)
      : plugin_(std::move(plugin)), comm_(comm), maxBytes_(plugin_->properties(device).maxBytes) {}

  transport::NetMemory* registerMemory(std::byte* data, std::size_t bytes,
                                       transport::NetPointer kind) override {
    void* memory = nullptr;
    check(net().registerMemory(comm_, data, bytes, static_cast<int>(kind), memory), "regMr", *plugin_);
    return static_cast<transport::NetMemory*>(memory);
  }
  transport::NetMemory* registerDmaBuf(std::byte* data, std::size_t bytes, int dmaBuf) override {
    void* memory = nullptr;
    check(net().registerDmaBuf(comm_, data, bytes, dmaBuf, memory), "regMrDmaBuf", *plugin_);
    return static_cast<transport::NetMemory*>(memory);
  }
  void deregisterMemory(transport::NetMemory* memory) override { net().deregisterMemory(comm_, memory); }

  bool test(transport::NetRequest* request, std::size_t* bytes) override {
    bool done = false;
    std::array<int, kMaxBuffers> sizes{};
    check(net().test(request, done, sizes.data()), "test", *plugin_);
    if (done && bytes != nullptr) *bytes = static_cast<std::size_t>(std::max(sizes.front(), 0));
    return done;
  }

 protected:
  NetFunctions& net() const { return plugin_->functions(); }
  void checkSize(std::size_t bytes) const {
    if (bytes > maxBytes_)
      throw Error(ResultCode::kInternalError, "{} carries {} bytes at once, not {}", plugin_->label(),
                  maxBytes_, bytes);
  }

  std::shared_ptr<const NetPlugin> plugin_;
  void* comm_;
  std::size_t maxBytes_;
};

class PluginSender final : public PluginLink<transport::NetSender> {
 public:
  using PluginLink::PluginLink;
  ~PluginSender() override { net().closeSend(comm_); }

  transport::NetRequest* isend(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                               transport::NetMemory* memory) override {
    checkSize(bytes);
    void* request = nullptr;
    check(net().isend(comm_, const_cast<std::byte*>(data), bytes, pluginTag(tag), memory, request), "isend",
          *plugin_);
    return static_cast<transport::NetRequest*>(request);
  }
};

class PluginReceiver final : public PluginLink<transport::NetReceiver> {
 public:
  using PluginLink::PluginLink;
  ~PluginReceiver() override { net().closeReceive(comm_); }

  transport::NetRequest* irecv(std::span<const transport::NetBuffer> buffers) override {
    for (const transport::NetBuffer& buffer : buffers) checkSize(buffer.bytes);
    void* request = nullptr;
    check(net().irecv(comm_, buffers, request), "irecv", *plugin_);
    return static_cast<transport::NetRequest*>(request);
  }
  transport::NetRequest* iflush(std::span<const transport::NetBuffer> buffers) override {
    void* request = nullptr;
    check(net().iflush(comm_, buffers, request), "iflush", *plugin_);
    return static_cast<transport::NetRequest*>(request);
  }
};

// An accept that is under way in the thread below, or its outcome.
struct PendingAccept {
  PendingAccept(std::shared_ptr<const NetPlugin> of, void* on) : plugin(std::move(of)), listening(on) {}

  const std::shared_ptr<const NetPlugin> plugin;
  void* const listening;
  std::atomic<bool> done{false};  // `comm` and `result` are valid
  void* comm = nullptr;
  abi::Result result = abi::kSuccess;
  bool left = false;  // under the thread's lock: its listener is gone
};

// Calls accept where it may wait for the peer, which old plugins do: one thread for the process. The caller goes on
// and makes its own connections, for which the peer's accept waits. The thread starts with the first accept.
class AcceptThread {
 public:
  static AcceptThread& instance() {
    // Never destroyed: a plugin may never return from accept. A child of fork has no such thread.
    static constinit PerProcess<AcceptThread> threads;
    return threads.get();
  }

  void add(std::shared_ptr<PendingAccept> accept) {
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(accept));
    if (!std::exchange(running_, true)) std::thread([this] { run(); }).detach();
  }
  // The caller has no more use for it. False if the thread is inside of it; then the thread closes what is
  // left once the plugin returns.
  bool leave(const std::shared_ptr<PendingAccept>& accept) {
    const std::lock_guard lock(mutex_);
    accept->left = true;
    if (current_ == accept) return false;
    std::erase(pending_, accept);
    return true;
  }

 private:
  static constexpr std::chrono::microseconds kShortestPause{20}, kLongestPause{1000};

  void run() {
    auto pause = kShortestPause;
    std::unique_lock lock(mutex_);
    for (std::size_t turn = 0; !pending_.empty(); ++turn) {
      current_ = pending_[turn % pending_.size()];
      PendingAccept& accept = *current_;
      lock.unlock();
      void* comm = nullptr;
      const abi::Result result = accept.plugin->functions().accept(accept.listening, comm);
      const bool over = result != abi::kSuccess || comm != nullptr;
      if (!over) accept.plugin->noteAcceptReturns();
      lock.lock();
      if (accept.left && comm != nullptr) accept.plugin->functions().closeReceive(comm);
      if (accept.left) accept.plugin->functions().closeListen(accept.listening);
      if (over && !accept.left) {
        accept.comm = comm;
        accept.result = result;
        accept.done.store(true, std::memory_order_release);
      }
      if (over || accept.left) std::erase(pending_, current_);
      current_ = nullptr;
      if (over) {
        pause = kShortestPause;
        continue;
      }
      lock.unlock();
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
      lock.lock();
    }
    running_ = false;
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<PendingAccept>> pending_;
  std::shared_ptr<PendingAccept> current_;  // in which the thread is
  bool running_ = false;
};

class PluginListener final : public transport::NetListener {
 public:
  PluginListener(const std::shared_ptr<const NetUse>& use, int device)
      : plugin_(pluginOf(use)), device_(device) {
    check(net().listen(use->context(), device, handle_, listening_), "listen", *plugin_);
    if (listening_ == nullptr)
      throw Error(ResultCode::kSystemError, "{}: listen returned nothing", plugin_->label());
  }
  ~PluginListener() override { close(); }
  const transport::NetHandle& handle() const override { return handle_; }

  std::unique_ptr<transport::NetReceiver> accept() override {
    void* comm = nullptr;
    if (pending_ == nullptr && plugin_->acceptReturns()) {
      check(net().accept(listening_, comm), "accept", *plugin_);
    } else {
      if (pending_ == nullptr) {
        pending_ = std::make_shared<PendingAccept>(plugin_, listening_);
        AcceptThread::instance().add(pending_);
      }
      if (!pending_->done.load(std::memory_order_acquire)) return nullptr;
      comm = pending_->comm;
      const abi::Result result = std::exchange(pending_, nullptr)->result;
      check(result, "accept", *plugin_);
    }
    if (comm == nullptr) return nullptr;
    auto link = std::make_unique<PluginReceiver>(plugin_, device_, comm);
    close();
    return link;
  }

 private:
  NetFunctions& net() const { return plugin_->functions(); }
  void close() {
    if (listening_ == nullptr) return;
    void* const listening = std::exchange(listening_, nullptr);
    if (const auto pending = std::exchange(pending_, nullptr)) {
      if (!AcceptThread::instance().leave(pending)) return;
      if (pending->done.load(std::memory_order_acquire) && pending->comm != nullptr)
        net().closeReceive(pending->comm);
    }
    net().closeListen(listening);
  }

  std::shared_ptr<const NetPlugin> plugin_;
  int device_;
  alignas(16) transport::NetHandle handle_{};
  void* listening_ = nullptr;
  std::shared_ptr<PendingAccept> pending_;
};

class PluginCaller final : public transport::NetConnector {
 public:
  PluginCaller(std::shared_ptr<const NetUse> use, int device, const transport::NetHandle& handle)
      : use_(std::move(use)), device_(device), handle_(handle) {}

  std::unique_ptr<transport::NetSender> advance() override {
    void* comm = nullptr;
    const NetPlugin& plugin = use_->plugin();
    check(plugin.functions().connect(use_->context(), use_->user(), device_, handle_, comm), "connect",
          plugin);
    return comm == nullptr ? nullptr : std::make_unique<PluginSender>(pluginOf(use_), device_, comm);
  }

 private:
  std::shared_ptr<const NetUse> use_;
  int device_;
  alignas(16) transport::NetHandle handle_;  // plugins store their progress in it between calls
};

}  // namespace

std::unique_ptr<transport::NetListener> PluginNetwork::listen(int device) {
  return std::make_unique<PluginListener>(use_, device);
}

std::unique_ptr<transport::NetConnector> PluginNetwork::call(int device, const transport::NetHandle& handle) {
  return std::make_unique<PluginCaller>(use_, device, handle);
}

namespace {

class PluginCollListener final : public transport::CollListener {
 public:
  PluginCollListener(const std::shared_ptr<const CollUse>& use, int device) : plugin_(pluginOf(use)) {
    check(plugin_->functions().listen(use->context(), device, handle_, listening_), "listen", *plugin_);
    if (listening_ == nullptr)
      throw Error(ResultCode::kSystemError, "{}: listen returned nothing", plugin_->label());
  }
  ~PluginCollListener() override { plugin_->functions().closeListen(listening_); }
  PluginCollListener(const PluginCollListener&) = delete;
  PluginCollListener& operator=(const PluginCollListener&) = delete;

  const transport::NetHandle& handle() const override { return handle_; }
  void* comm() const { return listening_; }

 private:
  std::shared_ptr<const CollPlugin> plugin_;
  alignas(16) transport::NetHandle handle_{};
  void* listening_ = nullptr;
};

class PluginCollLink final : public transport::CollLink {
 public:
  PluginCollLink(std::shared_ptr<const CollPlugin> plugin, void* comm)
      : plugin_(std::move(plugin)), comm_(comm) {}
  ~PluginCollLink() override { coll().closeComm(comm_); }
  PluginCollLink(const PluginCollLink&) = delete;
  PluginCollLink& operator=(const PluginCollLink&) = delete;

  transport::NetMemory* registerMemory(std::byte* data, std::size_t bytes,
                                       transport::NetPointer kind) override {
    void* memory = nullptr;
    check(coll().registerMemory(comm_, data, bytes, static_cast<int>(kind), memory), "regMr", *plugin_);
    return static_cast<transport::NetMemory*>(memory);
  }
  void deregisterMemory(transport::NetMemory* memory) override { coll().deregisterMemory(comm_, memory); }

  transport::NetRequest* iallreduce(const std::byte* in, std::byte* out, std::size_t count, DataType type,
                                    ReduceOp op, transport::NetMemory* inMemory,
                                    transport::NetMemory* outMemory) override {
    void* request = nullptr;
    check(coll().iallreduce(comm_, const_cast<std::byte*>(in), out, count, type, op, inMemory, outMemory,
                            request),
          "iallreduce", *plugin_);
    return static_cast<transport::NetRequest*>(request);
  }
  transport::NetRequest* iallgather(const std::byte* in, std::span<const transport::CollPart> out,
                                    transport::NetMemory* inMemory,
                                    transport::NetMemory* outMemory) override {
    void* request = nullptr;
    check(coll().iallgather(comm_, in, out, inMemory, outMemory, request), "iallgather", *plugin_);
    return static_cast<transport::NetRequest*>(request);
  }
  transport::NetRequest* ireducescatter(std::span<const transport::CollPart> in, std::byte* out,
                                        DataType type, ReduceOp op, transport::NetMemory* inMemory,
                                        transport::NetMemory* outMemory) override {
    void* request = nullptr;
    check(coll().ireducescatter(comm_, in, out, type, op, inMemory, outMemory, request), "ireducescatter",
          *plugin_);
    return static_cast<transport::NetRequest*>(request);
  }
  bool test(transport::NetRequest* request) override {
    bool done = false;
    check(coll().test(request, done), "test", *plugin_);
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

std::unique_ptr<transport::CollListener> PluginCollNetwork::listen(int device) {
  if (!use_) use_ = std::make_shared<const CollUse>(plugin_, communicator_);
  return std::make_unique<PluginCollListener>(use_, device);
}

std::unique_ptr<transport::CollLink> PluginCollNetwork::connect(std::span<const transport::NetHandle> handles,
                                                                int self, transport::CollListener& listener) {
  std::vector<transport::NetHandle> own(handles.begin(), handles.end());
  void* comm = nullptr;
  check(plugin_->functions().connect(own, self, static_cast<PluginCollListener&>(listener).comm(), comm),
        "connect", *plugin_);
  if (comm == nullptr)
    throw Error(ResultCode::kSystemError, "{}: connect returned nothing", plugin_->label());
  return std::make_unique<PluginCollLink>(pluginOf(use_), comm);
}

}  // namespace xylem::plugins
