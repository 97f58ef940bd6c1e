#include "runtime/transport/net/socket_handle.h"

#include <cstring>

#include "runtime/transport/net/socket_layout.h"

namespace xylem {

static_assert(sizeof(SocketHandle) <= sizeof(NetHandle));

NetHandle SocketHandle::pack() const {
  NetHandle handle{};
  std::memcpy(handle.data(), this, sizeof *this);
  return handle;
}

SocketHandle SocketHandle::unpack(const NetHandle& handle) {
  SocketHandle content;
  std::memcpy(&content, handle.data(), sizeof content);
  if (content.sockets < 1 || content.sockets > kMostSockets)
    throw Error(ResultCode::kRemoteError,
                "the handle of a connection asks for {} sockets; 1 to {} are possible", content.sockets,
                kMostSockets);
  SocketAddress::fromWire(content.address);  // throws if it is none
  return content;
}

}  // namespace xylem
