#include "runtime/transport/net/link_monitor.h"

#include <poll.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "runtime/sockets/socket.h"

namespace xylem::transport {

LinkMonitor::LinkMonitor(const sockets::SocketAddress& from, const sockets::SocketAddress& to,
                         std::chrono::seconds silence)
    : from_(from), to_(to), half_(Clock::duration(silence) / 2), movedAt_(Clock::now()) {}

bool LinkMonitor::silent(std::uint64_t moved) {
  const Clock::time_point now = Clock::now();
  // After a long pause between two calls, the age of the attempt says nothing about the link: start a new
  // one.
  const bool paused = now - std::exchange(checkedAt_, now) > half_ / 2;
  if (moved != moved_ || (asked_ && answered())) {
    moved_ = moved;
    movedAt_ = now;
    asked_ = false;
    attempt_.reset();
    return false;
  }
  if (!asked_ && now - movedAt_ < half_) return false;
  if (!asked_ || paused) {
    asked_ = true;
    askedAt_ = now;
    attempt_.reset();
  }
  return now - askedAt_ > half_;
}

// Starts a connection attempt, unless one is under way. Returns whether the other host has answered.
bool LinkMonitor::answered() {
  try {
    if (!attempt_) attempt_ = sockets::startConnect(to_, &from_);
    if (!attempt_) return true;  // refused
  } catch (const Error&) {
    return false;  // no way there at the moment
  }
  pollfd ready{attempt_.get(), POLLOUT, 0};
  if (poll(&ready, 1, 0) <= 0) return false;
  const int outcome = sockets::connectOutcome(attempt_.get());
  attempt_.reset();
  return outcome == 0 || outcome == ECONNREFUSED || outcome == ECONNRESET;
}

}  // namespace xylem::transport
