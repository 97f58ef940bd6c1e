#include "runtime/transport/net/rail_watch.h"

#include <poll.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "runtime/sockets/socket.h"

namespace xylem {

RailWatch::RailWatch(const SocketAddress& from, const SocketAddress& to, std::chrono::seconds silence)
    : from_(from), to_(to), half_(Clock::duration(silence) / 2), movedAt_(Clock::now()) {}

bool RailWatch::silent(std::uint64_t moved) {
  const Clock::time_point now = Clock::now();
  // What has not been looked at for so long may be old: asked anew.
  const bool paused = now - std::exchange(lookedAt_, now) > half_ / 2;
  if (moved != moved_ || (asked_ && answered())) {
    moved_ = moved;
    movedAt_ = now;
    asked_ = false;
    call_.reset();
    return false;
  }
  if (!asked_ && now - movedAt_ < half_) return false;
  if (!asked_ || paused) {
    asked_ = true;
    askedAt_ = now;
    call_.reset();
  }
  return now - askedAt_ > half_;
}

// Calls, if it has not, and looks for an answer.
bool RailWatch::answered() {
  try {
    if (!call_) call_ = startConnect(to_, &from_);
    if (!call_) return true;  // refused
  } catch (const Error&) {
    return false;  // no way there at the moment
  }
  pollfd ready{call_.get(), POLLOUT, 0};
  if (poll(&ready, 1, 0) <= 0) return false;
  const int outcome = connectOutcome(call_.get());
  call_.reset();
  return outcome == 0 || outcome == ECONNREFUSED || outcome == ECONNRESET;
}

}  // namespace xylem
