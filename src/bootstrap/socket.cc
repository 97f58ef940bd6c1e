#include "bootstrap/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/error.h"

namespace xylem {
namespace {

constexpr int kBacklog = 4096;

FileDescriptor openTcp(int family) {
  FileDescriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot open a TCP socket: {}", errnoText(errno));
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

FileDescriptor listenTcp(const SocketAddress& address) {
  FileDescriptor fd = openTcp(address.family());
  if (address.port() != 0) {
    // A port that was asked for may still be held by connections of a job that just ended.
    const int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (bind(fd.get(), address.get(), address.size()) != 0 || listen(fd.get(), kBacklog) != 0)
    throw Error(ResultCode::kSystemError, "cannot listen at {}: {}", address.text(), errnoText(errno));
  return fd;
}

FileDescriptor startConnect(const SocketAddress& to, const SocketAddress* from) {
  FileDescriptor fd = openTcp(to.family());
  sendAtOnce(fd.get());
  if (from != nullptr && from->family() == to.family()) {
    SocketAddress local = *from;
    local.setPort(0);
    if (bind(fd.get(), local.get(), local.size()) != 0)
      throw Error(ResultCode::kSystemError, "cannot use {} as a local address: {}", local.text(),
                  errnoText(errno));
  }
  if (connect(fd.get(), to.get(), to.size()) != 0 && errno != EINPROGRESS && errno != EINTR) {
    if (errno == ECONNREFUSED) return {};
    throw Error(ResultCode::kSystemError, "cannot connect to {}: {}", to.text(), errnoText(errno));
  }
  return fd;
}

int connectOutcome(int socket) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

FileDescriptor acceptTcp(int listener) {
  FileDescriptor fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd) sendAtOnce(fd.get());
  return fd;
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
