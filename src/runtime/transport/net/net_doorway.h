#pragma once
// Where the other ranks' control connections come in. Each waits here until this rank, too, wants to talk to
// its peer for the same purpose.
//
//   NetDoorway doorway(address, secret, log);
//   FileDescriptor socket = doorway.take(peer, purpose);  // none yet: try again

#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/sockets/acceptor.h"
#include "runtime/sockets/doorman.h"

namespace xylem {

class NetDoorway {
 public:
  NetDoorway(const SocketAddress& address, const Secret& secret, const Logger& log)
      : acceptor_(address, secret, log, "NET") {}

  const SocketAddress& address() const { return acceptor_.address(); }
  FileDescriptor take(int rank, std::uint32_t purpose);
  // This rank gives up: tells whoever is not taken yet, and whoever comes.
  void abort(int culprit, std::string_view text);

 private:
  std::mutex mutex_;  // connections may be made by several threads
  Acceptor acceptor_;
  Watched watched_{acceptor_.reception()};
  std::map<std::pair<int, std::uint32_t>, FileDescriptor> waiting_;
};

}  // namespace xylem
