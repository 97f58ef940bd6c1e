#include "runtime/transport/session/unix_socket.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace xylem::transport {
namespace {

constexpr int kBacklog = 1024;

struct LocalAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;

  // A name that starts with a zero byte is abstract: it is no file.
  explicit LocalAddress(const LocalName& name) {
    address.sun_family = AF_UNIX;
    static_assert(sizeof(LocalName) + 1 <= sizeof address.sun_path);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

FileDescriptor openSocket() {
  FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot open a local socket: {}", errnoText(errno));
  return fd;
}

}  // namespace

LocalListener::LocalListener() : fd_(openSocket()) {
  if (getrandom(name_.data(), name_.size(), 0) != static_cast<ssize_t>(name_.size()))
    throw Error(ResultCode::kSystemError, "cannot get random bytes: {}", errnoText(errno));
  const LocalAddress address(name_);
  if (bind(fd_.get(), address.get(), address.bytes) != 0 || listen(fd_.get(), kBacklog) != 0)
    throw Error(ResultCode::kSystemError, "cannot listen on a local socket: {}", errnoText(errno));
}

sockets::AcceptResult LocalListener::accept() const {
  FileDescriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return sockets::acceptFailure(errno);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return {sockets::AcceptResult::Kind::kRefused,
            {},
            "a process of this host",
            "the system does not say whose it is"};
  std::string from = fmt::format("process {} of user {}", peer.pid, peer.uid);
  if (peer.uid != geteuid())
    return {
        sockets::AcceptResult::Kind::kRefused, {}, std::move(from), "ranks of one host belong to one user"};
  return {sockets::AcceptResult::Kind::kConnection, std::move(fd), std::move(from), {}};
}

FileDescriptor connectLocal(const LocalName& name) {
  FileDescriptor fd = openSocket();
  const LocalAddress address(name);
  if (connect(fd.get(), address.get(), address.bytes) == 0) return fd;
  if (errno == EAGAIN || errno == EINTR) return {};
  throw Error(ResultCode::kRemoteError, "no process listens on the local socket: {}", errnoText(errno));
}

SendOutcome sendMessage(int socket, const void* data, std::size_t bytes, int fd) noexcept {
  iovec part{const_cast<void*>(data), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(bytes)) return SendOutcome::kSent;
  if (sent >= 0) return SendOutcome::kGone;
  // ETOOMANYREFS: this user has as many descriptors on their way as a process may open.
  const bool isFull = errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS;
  return isFull ? SendOutcome::kFull : SendOutcome::kGone;
}

std::optional<std::size_t> nextMessageBytes(int socket) noexcept {
  for (;;) {
    const ssize_t bytes = recv(socket, nullptr, 0, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
    if (bytes >= 0) return static_cast<std::size_t>(bytes);
    if (errno == EAGAIN || errno == EINTR) return std::nullopt;
    // The peer has closed while it had not read everything. The kernel reports that once, before the messages
    // that are still here; the call that follows gets those.
    if (errno != ECONNRESET) return 0;
  }
}

std::optional<ReceivedMessage> receiveMessage(int socket, void* data, std::size_t bytes) noexcept {
  iovec part{data, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  // Exactly the length of one descriptor: the kernel would put a second one into the bytes that alignment
  // adds.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  ReceivedMessage result;
  result.bytes = received > 0 ? static_cast<std::size_t>(received) : 0;  // reset: as closed
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); received > 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    result.fd = FileDescriptor(fd);
  }
  return result;
}

}  // namespace xylem::transport
