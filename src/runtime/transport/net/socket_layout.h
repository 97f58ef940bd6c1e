#pragma once
// How many sockets a link has, who moves them, and how a message is divided among them.
//
//   SocketLayout layout = chooseLayout({.threads = -2, .socketsPerThread = -2}, speed);   // {1, 0}
//   std::size_t part = partBytes(bytes, layout.sockets);
//
// One TCP connection is served by one core on either side, and one flow takes one way through the fabric.
// Fast interfaces therefore need several sockets. But each further one costs a system call, and each thread a
// wake-up, so slow interfaces are better off with one socket that is moved by whoever waits for the data.
// Automatic: 1 socket below 50 Gbit/s; 2, one moved by a helper, below 100; from there 4 and two helpers.

#include <algorithm>
#include <cstddef>

namespace xylem {

struct SocketChoice {
  int threads = -2;           // NCCL_SOCKET_NTHREADS
  int socketsPerThread = -2;  // NCCL_NSOCKS_PERTHREAD
};

struct SocketLayout {
  int sockets = 1;
  int helpers = 0;  // threads for all sockets but the first
};

// What NCCL allows.
constexpr int kMostSocketThreads = 16;
constexpr int kMostSockets = 64;

// `speed` in Mbit/s. More than kMostSockets in all are cut off.
SocketLayout chooseLayout(const SocketChoice& choice, int speed);

// Less than this is not worth another system call.
constexpr std::size_t kLeastPart = 32768;

// Bytes of a message on each socket, from the first on; the last ones may get less, or none.
inline std::size_t partBytes(std::size_t bytes, int sockets) {
  const auto n = static_cast<std::size_t>(sockets);
  return std::max(kLeastPart, (bytes + n - 1) / n);
}

}  // namespace xylem
