#pragma once
// A connection to an Acceptor that is being made: first TCP connects, then the handshake runs. It never
// waits.
//
//   Connector connector(address, &interface.address, secret, hello);
//   while (!connector.advance()) {
//     if (connector.refused()) ...
//     pollfd fd = connector.polled();
//     poll(&fd, 1, fd.fd < 0 ? Connector::kRetryMilliseconds : 1000);
//   }
//   FrameStream stream(connector.take());
//
// A connection that breaks off before either side has said who it is, as happens where a listener has too
// many to deal with, is tried again a few times.

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "core/file_descriptor.h"
#include "runtime/sockets/congestion.h"
#include "runtime/sockets/handshake.h"

namespace xylem::sockets {

// When to try again what has failed and may succeed next time: after a wait that doubles up to a bound.
//
//   Retries retries;
//   if (!retries.again()) throw ...                  // it has failed for the last time
//   if (retries.due()) attempt();
class Retries {
 public:
  using Clock = std::chrono::steady_clock;
  // All attempts together take two seconds.
  static constexpr int kMaxAttempts = 16;
  static constexpr std::chrono::milliseconds kFirstWait{20};
  static constexpr std::chrono::milliseconds kMaxWait{160};

  // Notes that an attempt has failed. False if there are no more attempts.
  bool again() {
    if (++failures_ >= kMaxAttempts) return false;
    next_ = Clock::now() + wait_;
    wait_ = std::min(2 * wait_, kMaxWait);
    return true;
  }
  bool due() const { return Clock::now() >= next_; }
  int failures() const { return failures_; }

 private:
  int failures_ = 0;
  std::chrono::milliseconds wait_ = kFirstWait;
  Clock::time_point next_{};
};

class Connector {
 public:
  // `from`, if not null, is the address of the interface to connect from.
  Connector(const SocketAddress& to, const SocketAddress* from, const Secret& secret, const Hello& hello,
            const Congestion& congestion = {});

  // True once the connection is made and authenticated. Throws if it failed for good, except if it was
  // refused.
  bool advance();
  // True if nothing listens at the address (yet, or any longer).
  bool refused() const { return refused_; }
  // True if the last attempt reached a process, which may be another one than the caller looks for.
  bool reached() const { return handshake_.has_value(); }
  // True if that process closed the connection.
  bool closed() const { return handshake_ && handshake_->closed(); }
  const SocketAddress& to() const { return to_; }
  // The descriptor and events to poll for. There is no descriptor (-1) between two attempts: call `advance`
  // again after kRetryMilliseconds.
  pollfd polled() const;
  FileDescriptor take() { return std::move(socket_); }

  static constexpr int kRetryMilliseconds = static_cast<int>(Retries::kFirstWait.count());

 private:
  void start();
  void tryAgain(const std::string& reason);

  SocketAddress to_;
  std::optional<SocketAddress> from_;
  Secret secret_;
  Hello hello_;
  Congestion congestion_;
  FileDescriptor socket_;
  bool refused_ = false;
  Retries retries_;
  std::optional<Handshake> handshake_;
};

}  // namespace xylem::sockets
