#pragma once
// The sockets of a link: how many it has, how many helper threads move them, how a message is divided among
// them, and the handle by which the sending side finds the receiving one.
//
//   SocketLayout layout = chooseLayout({.threads = -2, .socketsPerThread = -2}, speed);   // {1, 0} if slow
//   std::size_t part = partBytes(bytes, layout.sockets);
//
// One core at each end serves a TCP connection, and its packets take one path through the fabric. Fast
// interfaces therefore need several sockets. But each socket costs a system call per message, and each
// thread a wake-up, so slow interfaces do better with one socket that the waiting thread moves itself. The
// automatic choice: below 50 Gbit/s 1 socket, below 100 Gbit/s 2 sockets and a helper, above 4 sockets and
// two helpers.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"
#include "runtime/transport/net/network.h"

namespace xylem::transport {

struct SocketChoice {
  int threads = -2;           // NCCL_SOCKET_NTHREADS
  int socketsPerThread = -2;  // NCCL_NSOCKS_PERTHREAD
};

struct SocketLayout {
  int sockets = 1;
  int helpers = 0;  // threads that move all sockets but the first
};

// NCCL's limits.
constexpr int kMaxSocketThreads = 16;
constexpr int kMaxSockets = 64;

// `speed` is in Mbit/s. The layout has at most kMaxSockets sockets.
SocketLayout chooseLayout(const SocketChoice& choice, int speed);

// A shorter part is not worth another system call.
constexpr std::size_t kMinPartBytes = 32768;

// Bytes of a message on each socket, from the first on. The last ones may get fewer, or none.
inline std::size_t partBytes(std::size_t bytes, int sockets) {
  const auto n = static_cast<std::size_t>(sockets);
  return std::max(kMinPartBytes, (bytes + n - 1) / n);
}

// The handle of a listener of the socket network.
//
//   const NetHandle handle = SocketHandle{address, nonce, 4}.pack();
//   const SocketHandle again = SocketHandle::unpack(handle);        // throws Error if it is invalid
struct SocketHandle {
  sockets::WireAddress address;  // where the listener accepts
  sockets::Secret nonce{};       // random; only a rank that has the handle knows it
  std::uint32_t sockets = 0;     // number of sockets of the link

  NetHandle pack() const;
  static SocketHandle unpack(const NetHandle& handle);
};

}  // namespace xylem::transport
