#pragma once
// A listening socket that lets only those in who know the secret. Strangers, garbage and connections that
// never say anything are dropped with one line in the log, and hold nobody up.
//
//   Acceptor acceptor(address, secret, log);
//   std::vector<pollfd> fds;
//   acceptor.addTo(fds);
//   poll(fds...);
//   for (Accepted& a : acceptor.advance()) use(a.hello.rank, std::move(a.socket));

#include <poll.h>

#include <memory>
#include <vector>

#include "bootstrap/handshake.h"
#include "core/deadline.h"
#include "core/file_descriptor.h"
#include "core/log.h"

namespace xylem {

struct Accepted {
  FileDescriptor socket;
  Hello hello;
};

class Acceptor {
 public:
  Acceptor(const SocketAddress& address, const Secret& secret, const Logger& log);

  const SocketAddress& address() const { return address_; }
  void addTo(std::vector<pollfd>& fds) const;
  // Moves all connections on; those that have shown that they belong to the job.
  std::vector<Accepted> advance();

 private:
  struct Pending {
    FileDescriptor socket;
    Handshake handshake;
    Deadline deadline;
  };
  void drop(const Pending& pending, const std::string& reason) const;

  Secret secret_;
  const Logger& log_;
  FileDescriptor listener_;
  SocketAddress address_;
  std::vector<Pending> pending_;  // oldest first
};

}  // namespace xylem
