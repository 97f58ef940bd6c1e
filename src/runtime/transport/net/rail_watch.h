#pragma once
// Whether another host still answers over one of several ways to it. What joins two ranks may be well while a
// cable that only carries data is cut, and not every network notices that.
//
//   RailWatch watch(from, to, std::chrono::seconds(20));   // addresses of two interfaces
//   if (watch.silent(stepsMoved)) ...                      // asked again and again by whoever waits
//
// Where nothing has moved for half of that time, the other host's system is called, which answers even if it
// refuses; one that does not for the other half is silent. Nothing here waits.

#include <chrono>

#include "core/file_descriptor.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

class RailWatch {
 public:
  // `to`: at any port.
  RailWatch(const SocketAddress& from, const SocketAddress& to, std::chrono::seconds silence);

  // `moved`: a number that changes with what comes and goes.
  bool silent(std::uint64_t moved);
  const SocketAddress& to() const { return to_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool answered();

  SocketAddress from_, to_;
  Clock::duration half_;
  std::uint64_t moved_ = 0;
  Clock::time_point movedAt_;  // or the other host has answered
  bool asked_ = false;         // since then
  Clock::time_point askedAt_{};
  Clock::time_point lookedAt_{};
  FileDescriptor call_;
};

}  // namespace xylem
