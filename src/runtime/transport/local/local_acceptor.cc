#include "runtime/transport/local/local_acceptor.h"

#include "runtime/transport/local/local_link.h"

namespace xylem::transport {

LocalKey LocalKey::of(const sockets::Hello& hello) {
  return {hello.rank, hello.detail >> 8, static_cast<LocalKind>(hello.detail & 0xff)};
}

LocalAcceptor::LocalAcceptor(int rank, const sockets::Secret& secret, const Logger& log)
    : rank_(rank),
      secret_(secret),
      pendingConnections_(
          listener_.fd(), [this] { return listener_.accept(); }, secret, log, "SHM") {}

FileDescriptor LocalAcceptor::claim(const LocalKey& key) {
  const std::lock_guard lock(mutex_);
  for (sockets::Accepted& accepted : pendingConnections_.advance()) {
    if (accepted.hello.purpose == sockets::Purpose::kLocal)
      callers_[LocalKey::of(accepted.hello)].push(std::move(accepted.socket));
    else
      pendingConnections_.drop(accepted, "it is none between two ranks of one host");
  }
  const auto callers = callers_.find(key);
  if (callers == callers_.end()) return {};
  FileDescriptor socket = std::move(callers->second.front());
  callers->second.pop();
  if (callers->second.empty()) callers_.erase(callers);
  return socket;
}

void LocalAcceptor::abort(int failedRank, std::string_view text) {
  const auto say = [message = LocalLink::abortMessage(failedRank, text)](int socket) {
    sendMessage(socket, &message, sizeof message);
  };
  const std::lock_guard lock(mutex_);
  pendingConnections_.tellAll(say);
  for (auto& [key, sockets] : callers_)
    for (std::size_t i = sockets.size(); i > 0; --i) {
      say(sockets.front().get());
      sockets.push(std::move(sockets.front()));
      sockets.pop();
    }
}

bool LocalAcceptor::has(const LocalKey& key) const {
  const std::lock_guard lock(mutex_);
  return callers_.contains(key);
}

}  // namespace xylem::transport
