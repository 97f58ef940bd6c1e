#include "runtime/sockets/socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/error.h"

namespace xylem {
namespace {

constexpr int kBacklog = 4096;

FileDescriptor openTcp(int family) {
  FileDescriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd)
    throw Error(ResultCode::kSystemError, "cannot open a TCP socket: {}{}", errnoText(errno),
                errno == EMFILE ? " (raise the limit: ulimit -n)" : "");
  return fd;
}

// Messages here are small and waited for.
void sendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int receive(int socket, std::span<std::byte> bytes, int flags) noexcept {
  const ssize_t n =
      recv(socket, bytes.data(), std::min<std::size_t>(bytes.size(), INT_MAX), flags | MSG_DONTWAIT);
  if (n > 0) return static_cast<int>(n);
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

}  // namespace

FileDescriptor listenTcp(const SocketAddress& address, const Congestion& congestion) {
  FileDescriptor fd = openTcp(address.family());
  congestion.prepare(fd.get());
  if (address.port() != 0) {
    // A port that was asked for may still be held by connections of a job that just ended.
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
  // From the loopback one reaches this host only, and over the loopback nothing else does.
  if (from != nullptr && from->family() == to.family() && from->loopback() == to.loopback()) {
    SocketAddress local = *from;
    local.setPort(0);
    // The number of a link means something on its own host only.
    if (to.linkLocal() && local.linkLocal()) target.setScope(local.scope());
    // The port is chosen when connecting: so many more connections to different places fit.
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

Arrival acceptTcp(int listener) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  auto* from = reinterpret_cast<sockaddr*>(&storage);
  FileDescriptor fd(accept4(listener, from, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
  // Who has left again while it waited is not the last one.
  while (!fd && errno == ECONNABORTED)
    fd = FileDescriptor(accept4(listener, from, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return noArrival(errno);
  sendAtOnce(fd.get());
  return {Arrival::Kind::kCaller, std::move(fd), SocketAddress(from, bytes).text()};
}

void breakWhenSilent(int socket, std::chrono::seconds silence) noexcept {
  const int on = 1;
  // One interval until the first question, one for each of two answers; the kernel knows only whole seconds.
  const int interval = std::max(1, static_cast<int>(silence.count() / 3));
  const int questions = 2;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof interval);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &questions, sizeof questions);
}

void breakWhenUnanswered(int socket, std::chrono::seconds silence) noexcept {
  breakWhenSilent(socket, silence);
  const auto milliseconds = static_cast<int>(std::min<long long>(1000 * silence.count(), INT_MAX));
  // The kernel applies it to peers with full buffers, too.
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

int sendSome(int socket, std::span<const std::byte> bytes) noexcept {
  const ssize_t n =
      send(socket, bytes.data(), std::min<std::size_t>(bytes.size(), INT_MAX), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) return static_cast<int>(n);
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

int receiveSome(int socket, std::span<std::byte> bytes) noexcept { return receive(socket, bytes, 0); }
int peekSome(int socket, std::span<std::byte> bytes) noexcept { return receive(socket, bytes, MSG_PEEK); }

std::string remoteText(int socket) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return "somebody who is gone";
  return SocketAddress(reinterpret_cast<const sockaddr*>(&storage), bytes).text();
}

}  // namespace xylem
