#include "runtime/sockets/socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/error.h"

namespace xylem::sockets {
namespace {

constexpr int kBacklog = 4096;

FileDescriptor openTcp(int family) {
  FileDescriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot open a TCP socket: {}", errnoText(errno));
  return fd;
}

// Messages here are small, and ranks wait for each of them: no batching by the kernel.
void sendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

FileDescriptor listenTcp(const SocketAddress& address, const Congestion& congestion) {
  FileDescriptor fd = openTcp(address.family());
  congestion.prepare(fd.get());
  if (address.port() != 0) {
    // Connections of a job that just ended may still hold a port that the user chose.
    const int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (bind(fd.get(), address.get(), address.size()) != 0 || listen(fd.get(), kBacklog) != 0)
    throw Error(ResultCode::kSystemError, "cannot listen at {}: {}", address.text(), errnoText(errno));
  return fd;
}

FileDescriptor startConnect(const SocketAddress& to, const SocketAddress* from,
                            const Congestion& congestion) {
  FileDescriptor fd = openTcp(to.family());
  sendAtOnce(fd.get());
  congestion.prepare(fd.get());
  SocketAddress target = to;
  // A loopback address reaches this host only, and nothing but a loopback address reaches it over the
  // loopback.
  if (from != nullptr && from->family() == to.family() && from->loopback() == to.loopback()) {
    SocketAddress local = *from;
    local.setPort(0);
    // The scope of a link-local address is a number of the host that it was made on: use ours.
    if (to.linkLocal() && local.linkLocal()) target.setScope(local.scope());
    // The kernel chooses the port when connecting. Then connections to different places may share one.
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd.get(), local.get(), local.size()) != 0)
      throw Error(ResultCode::kSystemError, "cannot use {} as a local address: {}", local.text(),
                  errnoText(errno));
  }
  if (connect(fd.get(), target.get(), target.size()) != 0 && errno != EINPROGRESS && errno != EINTR) {
    if (errno == ECONNREFUSED) return {};
    throw Error(ResultCode::kSystemError, "cannot connect to {}: {}", target.text(), errnoText(errno));
  }
  return fd;
}

int connectOutcome(int socket) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

AcceptResult acceptFailure(int error) {
  const bool full = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  return {full ? AcceptResult::Kind::kNoDescriptors : AcceptResult::Kind::kNone};
}

AcceptResult acceptTcp(int listener) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  auto* from = reinterpret_cast<sockaddr*>(&storage);
  FileDescriptor fd(accept4(listener, from, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
  // A peer that has left while it waited is no reason to stop: others may wait behind it.
  while (!fd && errno == ECONNABORTED)
    fd = FileDescriptor(accept4(listener, from, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return acceptFailure(errno);
  sendAtOnce(fd.get());
  return {AcceptResult::Kind::kConnection, std::move(fd), SocketAddress(from, bytes).text()};
}

void breakWhenSilent(int socket, std::chrono::seconds silence) noexcept {
  const int on = 1;
  // One interval until the first probe and one after each of two probes. The kernel counts whole seconds.
  const int interval = std::max(1, static_cast<int>(silence.count() / 3));
  const int probes = 2;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof interval);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void breakWhenUnanswered(int socket, std::chrono::seconds silence) noexcept {
  breakWhenSilent(socket, silence);
  const auto milliseconds = static_cast<int>(std::min<long long>(1000 * silence.count(), INT_MAX));
  // The kernel applies it to peers that do not read, too.
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

int sendSome(int socket, std::span<const std::byte> bytes) noexcept {
  const ssize_t n =
      send(socket, bytes.data(), std::min<std::size_t>(bytes.size(), INT_MAX), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) return static_cast<int>(n);
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

int receiveSome(int socket, std::span<std::byte> bytes) noexcept {
  const ssize_t n = recv(socket, bytes.data(), std::min<std::size_t>(bytes.size(), INT_MAX), MSG_DONTWAIT);
  if (n > 0) return static_cast<int>(n);
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

std::string remoteText(int socket) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return "somebody who is gone";
  return SocketAddress(reinterpret_cast<const sockaddr*>(&storage), bytes).text();
}

}  // namespace xylem::sockets
