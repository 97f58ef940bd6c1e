#include "runtime/transport/net/socket/socket_layout.h"

#include <cstring>

namespace xylem::transport {
namespace {

constexpr int kFastMbits = 50000;
constexpr int kFasterMbits = 100000;

}  // namespace

SocketLayout chooseLayout(const SocketChoice& choice, int speed) {
  int threads = choice.threads;
  int perThread = choice.socketsPerThread;
  if (threads < 0) threads = speed >= kFasterMbits ? 2 : speed >= kFastMbits ? 1 : 0;
  threads = std::min(threads, kMaxSocketThreads);
  if (perThread <= 0) perThread = choice.threads < 0 && threads > 0 ? 2 : 1;
  const int groups = std::max(threads, 1);
  perThread = std::min(perThread, kMaxSockets / groups);
  SocketLayout layout;
  layout.sockets = groups * perThread;
  layout.helpers = std::min(threads, layout.sockets - 1);
  return layout;
}

static_assert(sizeof(SocketHandle) <= sizeof(NetHandle));

NetHandle SocketHandle::pack() const {
  NetHandle handle{};
  std::memcpy(handle.data(), this, sizeof *this);
  return handle;
}

SocketHandle SocketHandle::unpack(const NetHandle& handle) {
  SocketHandle content;
  std::memcpy(&content, handle.data(), sizeof content);
  if (content.sockets < 1 || content.sockets > kMaxSockets)
    throw Error(ResultCode::kRemoteError,
                "the handle of a connection asks for {} sockets; 1 to {} are possible", content.sockets,
                kMaxSockets);
  sockets::SocketAddress::fromWire(content.address);  // throws if it is invalid
  return content;
}

}  // namespace xylem::transport
