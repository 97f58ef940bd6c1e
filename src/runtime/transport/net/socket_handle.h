#pragma once
// What a listener of the socket network puts into its handle: where it listens, a number that only those
// learn who are given the handle, and how many sockets the link wants.
//
//   const NetHandle handle = SocketHandle{address, nonce, 4}.pack();
//   const SocketHandle again = SocketHandle::unpack(handle);        // throws Error if it makes no sense

#include <cstdint>

#include "runtime/transport/net/network.h"
#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

struct SocketHandle {
  WireAddress address;
  Secret nonce{};
  std::uint32_t sockets = 0;

  NetHandle pack() const;
  static SocketHandle unpack(const NetHandle& handle);
};

}  // namespace xylem
