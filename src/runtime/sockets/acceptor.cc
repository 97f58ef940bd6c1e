#include "runtime/sockets/acceptor.h"

#include "runtime/sockets/socket.h"

namespace xylem {

Acceptor::Acceptor(const SocketAddress& address, const Secret& secret, const Logger& log, const char* who,
                   const Congestion& congestion)
    : listener_(listenTcp(address, congestion)),
      address_(SocketAddress::boundTo(listener_.get())),
      reception_(
          listener_.get(), [this] { return acceptTcp(listener_.get()); }, secret, log, who) {}

}  // namespace xylem
