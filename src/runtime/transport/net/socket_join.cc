#include "runtime/transport/net/socket_join.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/transport/net/socket_handle.h"
#include "runtime/transport/net/socket_link.h"
#include "runtime/sockets/socket.h"

namespace xylem {
namespace {

// What proves both: to know the secret of the job, and to have been given the handle.
Secret secretOf(const Secret& job, const Secret& nonce) {
  std::array<std::uint8_t, 2 * sizeof(Secret)> both;
  std::memcpy(both.data(), job.data(), job.size());
  std::memcpy(both.data() + job.size(), nonce.data(), nonce.size());
  Secret secret;
  hash(secret.data(), secret.size(), both.data(), both.size());
  return secret;
}

// The key in the headers of the link's messages. It guards against mistakes, not against people.
std::uint32_t keyOf(const Secret& nonce) {
  std::uint32_t key;
  hash(reinterpret_cast<std::uint8_t*>(&key), sizeof key, nonce.data(), nonce.size());
  return key;
}

// The headers of the way back have another one.
std::uint32_t keyBack(const Secret& nonce) { return ~keyOf(nonce); }

std::vector<FileDescriptor> duplicates(const std::vector<FileDescriptor>& sockets) {
  std::vector<FileDescriptor> copies;
  for (const FileDescriptor& socket : sockets) {
    copies.emplace_back(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    if (!copies.back())
      throw Error(ResultCode::kSystemError, "cannot use a socket both ways: {}", errnoText(errno));
  }
  return copies;
}

void tune(int socket, const SocketTuning& tuning) {
  breakWhenSilent(socket, tuning.silence);
  tuning.congestion.settle(socket);
  if (tuning.bufferBytes <= 0) return;
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &tuning.bufferBytes, sizeof tuning.bufferBytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &tuning.bufferBytes, sizeof tuning.bufferBytes);
}

SocketAddress anyPort(SocketAddress address) {
  address.setPort(0);
  return address;
}

// An address that is valid on one link only is reached through our own interface to that link.
SocketAddress throughOurLink(WireAddress to, const SocketAddress& from) {
  if (SocketAddress::fromWire(to).linkLocal()) to.scope = from.toWire().scope;
  return SocketAddress::fromWire(to);
}

}  // namespace

SocketListener::SocketListener(const SocketAddress& address, const SocketLayout& layout,
                               const Secret& jobSecret, const SocketTuning& tuning, const Logger& log)
    : layout_(layout),
      tuning_(tuning),
      acceptor_(anyPort(address), secretOf(jobSecret, nonce_), log, "NET/Socket", tuning.congestion),
      sockets_(static_cast<std::size_t>(layout.sockets)),
      missing_(layout.sockets) {
  handle_ =
      SocketHandle{acceptor_.address().toWire(), nonce_, static_cast<std::uint32_t>(layout.sockets)}.pack();
}

std::unique_ptr<NetReceiver> SocketListener::accept() {
  for (Accepted& accepted : acceptor_.advance()) {
    const std::uint32_t index = accepted.hello.detail;
    if (accepted.hello.purpose != Purpose::kData || index >= sockets_.size() || sockets_[index]) {
      acceptor_.reception().drop(accepted, "it is not one of this link's");
      continue;
    }
    tune(accepted.socket.get(), tuning_);
    sockets_[index] = std::move(accepted.socket);
    --missing_;
  }
  if (missing_ > 0) return nullptr;
  back_ = duplicates(sockets_);
  return std::make_unique<SocketReceiver>(std::move(sockets_), layout_.helpers, keyOf(nonce_));
}

std::unique_ptr<NetSender> SocketListener::wayBack() {
  return std::make_unique<SocketSender>(std::move(back_), layout_.helpers, keyBack(nonce_));
}

SocketCaller::SocketCaller(const SocketAddress& from, int helpers, const NetHandle& handle,
                           const Secret& jobSecret, const SocketTuning& tuning)
    : helpers_(helpers), tuning_(tuning) {
  const SocketHandle content = SocketHandle::unpack(handle);
  to_ = throughOurLink(content.address, from);
  nonce_ = content.nonce;
  const Secret secret = secretOf(jobSecret, nonce_);
  Hello hello;
  hello.purpose = Purpose::kData;
  for (hello.detail = 0; hello.detail < content.sockets; ++hello.detail) {
    calls_.emplace_back(to_, &from, secret, hello, tuning.congestion);
    throwIfRefused(calls_.back());
  }
}

void SocketCaller::throwIfRefused(const Caller& call) const {
  if (call.refused())
    throw Error(ResultCode::kRemoteError, "cannot connect to {}: nobody listens there any more", to_.text());
}

std::unique_ptr<NetSender> SocketCaller::advance() {
  bool all = true;
  for (Caller& call : calls_) {
    all &= call.advance();
    throwIfRefused(call);
  }
  if (!all) return nullptr;
  std::vector<FileDescriptor> sockets;
  for (Caller& call : calls_) {
    sockets.push_back(call.take());
    tune(sockets.back().get(), tuning_);
  }
  back_ = duplicates(sockets);
  return std::make_unique<SocketSender>(std::move(sockets), helpers_, keyOf(nonce_));
}

std::unique_ptr<NetReceiver> SocketCaller::wayBack() {
  return std::make_unique<SocketReceiver>(std::move(back_), helpers_, keyBack(nonce_));
}

}  // namespace xylem
