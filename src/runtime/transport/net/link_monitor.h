#pragma once
// Monitors whether another host still answers over one of several links to it. A cable that carries only
// data can be cut while the session works, and not every network notices that.
//
//   LinkMonitor monitor(from, to, std::chrono::seconds(20));   // addresses of two interfaces
//   if (monitor.silent(stepsMoved)) ...                        // called repeatedly by a rank that waits
//
// If nothing has moved for half of that time, the monitor starts a TCP connection to the other host. Any
// answer, even a refusal, shows that the host is reachable. Without an answer in the other half, the link is
// silent. Nothing here waits.

#include <chrono>

#include "core/file_descriptor.h"
#include "runtime/sockets/socket_address.h"

namespace xylem::transport {

class LinkMonitor {
 public:
  // The port of `to` need not have a listener.
  LinkMonitor(const sockets::SocketAddress& from, const sockets::SocketAddress& to,
              std::chrono::seconds silence);

  // Returns whether the link is silent. `moved`: a number that changes whenever data has moved over the
  // link.
  bool silent(std::uint64_t moved);
  const sockets::SocketAddress& to() const { return to_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool answered();

  sockets::SocketAddress from_, to_;
  Clock::duration half_;
  std::uint64_t moved_ = 0;
  Clock::time_point movedAt_;  // the last time that data moved or the other host answered
  bool asked_ = false;         // a connection attempt was started since movedAt_
  Clock::time_point askedAt_{};
  Clock::time_point checkedAt_{};  // the last call of silent()
  FileDescriptor attempt_;
};

}  // namespace xylem::transport
