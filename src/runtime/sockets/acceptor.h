#pragma once
// A listening TCP socket that lets only those in who know the secret (runtime/sockets/reception.h).
//
//   Acceptor acceptor(address, secret, log);
//   std::vector<pollfd> fds;
//   acceptor.addTo(fds);
//   poll(fds...);
//   for (Accepted& a : acceptor.advance()) use(a.hello.rank, std::move(a.socket));

#include <poll.h>

#include <vector>

#include "runtime/sockets/congestion.h"
#include "runtime/sockets/reception.h"

namespace xylem {

class Acceptor {
 public:
  // `who` starts the lines in the log and must outlive this.
  Acceptor(const SocketAddress& address, const Secret& secret, const Logger& log,
           const char* who = "Bootstrap", const Congestion& congestion = {});

  const SocketAddress& address() const { return address_; }
  Reception& reception() { return reception_; }
  void addTo(std::vector<pollfd>& fds) const { fds.push_back({reception_.fd(), POLLIN, 0}); }
  // Whether somebody has called who has not shown yet that he belongs to the job.
  bool busy() const { return reception_.strangers(); }
  // Moves all connections on; those that have shown that they belong to the job.
  std::vector<Accepted> advance() { return reception_.advance(); }

 private:
  FileDescriptor listener_;
  SocketAddress address_;
  Reception reception_;
};

}  // namespace xylem
