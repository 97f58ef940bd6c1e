#include "bootstrap/acceptor.h"

#include "bootstrap/socket.h"

namespace xylem {
namespace {

// How long somebody may take to show that he belongs here; ranks need one round trip.
constexpr std::chrono::seconds kPatience{10};
// More unproven connections than this push out the oldest ones: strangers cannot use up file descriptors.
constexpr std::size_t kMostPending = 512;

}  // namespace

Acceptor::Acceptor(const SocketAddress& address, const Secret& secret, const Logger& log)
    : secret_(secret),
      log_(log),
      listener_(listenTcp(address)),
      address_(SocketAddress::boundTo(listener_.get())) {}

void Acceptor::addTo(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  for (const Pending& pending : pending_)
    fds.push_back({pending.socket.get(), pending.handshake.events(), 0});
}

void Acceptor::drop(const Pending& pending, const std::string& reason) const {
  log_.warn("Bootstrap : dropped a connection from {}: {}", remoteText(pending.socket.get()), reason);
}

std::vector<Accepted> Acceptor::advance() {
  while (FileDescriptor socket = acceptTcp(listener_.get())) {
    const int fd = socket.get();
    pending_.push_back({std::move(socket), Handshake::answer(fd, secret_), Deadline::after(kPatience)});
    if (pending_.size() > kMostPending) {
      drop(pending_.front(), "too many connections that did not say who they are");
      pending_.erase(pending_.begin());
    }
  }
  std::vector<Accepted> accepted;
  std::erase_if(pending_, [&](Pending& pending) {
    switch (pending.handshake.advance()) {
      case Handshake::State::kDone:
        accepted.push_back({std::move(pending.socket), pending.handshake.hello()});
        return true;
      case Handshake::State::kFailed:
        drop(pending, pending.handshake.reason());
        return true;
      case Handshake::State::kUnderWay:
        if (!pending.deadline.passed()) return false;
        drop(pending, "it did not say who it is");
        return true;
    }
    return true;
  });
  return accepted;
}

}  // namespace xylem
