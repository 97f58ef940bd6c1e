#pragma once
// A connection on its way to an Acceptor: first TCP's, then ours. It never waits.
//
//   Caller caller(address, &interface.address, secret, hello);
//   while (!caller.advance()) { if (caller.refused()) ...; pollfd fd = caller.wish(); poll(&fd, 1, ...); }
//   FrameStream stream(caller.take());
//
// A connection that breaks off before either side has said who it is, as it does where a listener has too
// many to deal with, is tried again a few times.

#include <poll.h>

#include <optional>

#include "core/file_descriptor.h"
#include "runtime/sockets/congestion.h"
#include "runtime/sockets/handshake.h"
#include "runtime/sockets/retries.h"

namespace xylem {

class Caller {
 public:
  // `from`, if not null, is the address of the interface to call from.
  Caller(const SocketAddress& to, const SocketAddress* from, const Secret& secret, const Hello& hello,
         const Congestion& congestion = {});

  // True once it is connected and authenticated. Throws if that cannot be any more; see refused().
  bool advance();
  // Nobody listens there (yet, or any more).
  bool refused() const { return refused_; }
  const SocketAddress& to() const { return to_; }
  // What to poll for; without a descriptor between two attempts: then come back after kRetryMilliseconds.
  pollfd wish() const;
  FileDescriptor take() { return std::move(socket_); }

  static constexpr int kRetryMilliseconds = static_cast<int>(Retries::kFirst.count());

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

}  // namespace xylem
