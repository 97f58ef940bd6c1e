#include "runtime/sockets/handshake.h"

#include <poll.h>

#include "runtime/sockets/socket.h"

namespace xylem {

short Handshake::events() const { return steps_.sends() ? POLLOUT : POLLIN; }

Handshake::State Handshake::advance() {
  while (steps_.state() == State::kUnderWay) {
    const std::span<std::byte> next = steps_.next();
    const int moved = steps_.sends() ? sendSome(socket_, next) : receiveSome(socket_, next);
    if (moved == 0) break;
    if (moved < 0)
      steps_.closed();
    else
      steps_.moved(static_cast<std::size_t>(moved));
  }
  return steps_.state();
}

}  // namespace xylem
