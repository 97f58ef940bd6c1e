#include "runtime/plugins/xylem_net/offered_network.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/transport/net/socket/socket_layout.h"

namespace xylem::xylem_net {
namespace {

// NCCL calls connect with the same memory until there is a connection. The pending connection's address is
// kept at the end of that memory, which is zero in a fresh handle.
constexpr std::size_t kCallerAt = sizeof(transport::NetHandle) - sizeof(transport::NetConnector*);
static_assert(sizeof(transport::SocketHandle) <= kCallerAt);

}  // namespace

OfferedRequest* OfferedComm::fresh() {
  for (OfferedRequest& request : requests)
    if (request.request == nullptr) return &request;
  return nullptr;
}

OfferedNetwork& OfferedNetwork::instance() {
  static OfferedNetwork network;
  return network;
}

void OfferedNetwork::start(plugins::abi::LogFunction log) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  log_ = log;
  if (network_) return;
  auto network = std::make_unique<transport::SocketNetwork>(
      transport::SocketOptions::from(Settings::fromEnvironment()), sockets::Secret{}, silent_);
  for (int device = 0; device < network->deviceCount(); ++device)
    names_.push_back(network->properties(device).name);
  network_ = std::move(network);
}

const transport::Network& OfferedNetwork::network() const {
  if (!network_) throw Error(ResultCode::kInternalError, "the network is used before init");
  return *network_;
}

int OfferedNetwork::devices() const { return network().deviceCount(); }

void OfferedNetwork::log(LogLevel level, const char* text) const {
  if (log_ != nullptr)
    log_(static_cast<int>(level), static_cast<unsigned long>(Subsystem::kNet), "xylem", 0, "NET/Xylem : %s",
         text);
}

void* OfferedNetwork::listen(int device, void* handle) {
  std::unique_ptr<transport::NetListener> listener = network().listen(device);
  std::memcpy(handle, &listener->handle(), sizeof(transport::NetHandle));
  return listener.release();
}

void* OfferedNetwork::connect(int device, void* handle) {
  transport::NetHandle bytes;
  std::memcpy(&bytes, handle, sizeof bytes);
  transport::NetConnector* waiting = nullptr;
  std::memcpy(&waiting, bytes.data() + kCallerAt, sizeof waiting);
  std::unique_ptr<transport::NetConnector> caller(waiting);
  if (!caller) caller = network().call(device, bytes);
  const auto keep = [&](transport::NetConnector* kept) {
    std::memcpy(static_cast<std::byte*>(handle) + kCallerAt, &kept, sizeof kept);
  };
  keep(nullptr);  // a failed attempt leaves nothing behind
  auto comm = std::make_unique<OfferedComm>();
  comm->sender = caller->advance();
  if (comm->sender) return comm.release();
  keep(caller.release());
  return nullptr;
}

void* OfferedNetwork::accept(void* listening) {
  auto comm = std::make_unique<OfferedComm>();
  comm->receiver = static_cast<transport::NetListener*>(listening)->accept();
  return comm->receiver ? comm.release() : nullptr;
}

}  // namespace xylem::xylem_net
