#include "runtime/sockets/connector.h"

#include <cerrno>

#include "core/error.h"
#include "runtime/sockets/socket.h"

namespace xylem::sockets {

Connector::Connector(const SocketAddress& to, const SocketAddress* from, const Secret& secret,
                     const Hello& hello, const Congestion& congestion)
    : to_(to), secret_(secret), hello_(hello), congestion_(congestion) {
  if (from != nullptr) from_ = *from;
  start();
}

void Connector::start() {
  handshake_.reset();
  socket_ = startConnect(to_, from_ ? &*from_ : nullptr, congestion_);
  refused_ = !socket_;
}

void Connector::tryAgain(const std::string& reason) {
  if (!retries_.again())
    throw Error(ResultCode::kRemoteError, "cannot connect to {} after {} attempts: {}", to_.text(),
                retries_.failures(), reason);
  socket_.reset();
}

bool Connector::advance() {
  if (refused_) return false;
  if (!socket_) {
    if (!retries_.due()) return false;
    start();
    if (refused_) return false;
  }
  if (!handshake_) {
    pollfd fd{socket_.get(), POLLOUT, 0};
    if (poll(&fd, 1, 0) == 0) return false;
    const int outcome = connectOutcome(socket_.get());
    refused_ = outcome == ECONNREFUSED;
    if (refused_) return false;
    // The network may have come up just now and have no route yet.
    if (outcome == ECONNRESET || outcome == ECONNABORTED || outcome == EHOSTUNREACH ||
        outcome == ENETUNREACH) {
      tryAgain(errnoText(outcome));
      return false;
    }
    if (outcome != 0)
      throw Error(ResultCode::kRemoteError, "cannot connect to {}: {}", to_.text(), errnoText(outcome));
    handshake_ = Handshake::call(socket_.get(), secret_, hello_);
  }
  if (handshake_->advance() == Handshake::State::kFailed) {
    if (!handshake_->closed())
      throw Error(ResultCode::kRemoteError, "cannot join at {}: {}", to_.text(), handshake_->reason());
    tryAgain(handshake_->reason());
    return false;
  }
  return handshake_->state() == Handshake::State::kDone;
}

pollfd Connector::polled() const {
  return {socket_.get(), handshake_ ? handshake_->events() : short{POLLOUT}, 0};
}

}  // namespace xylem::sockets
