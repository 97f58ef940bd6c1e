#include "comparison/control.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "comparison/interruption.h"

namespace xylem::bench {
namespace {

sockaddr_un addressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw Error(ResultCode::kInvalidArgument, "{} is too long for the path of a socket", path);
  path.copy(address.sun_path, path.size());
  return address;
}

FileDescriptor newSocket() {
  FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot open a Unix socket: {}", errnoText(errno));
  return fd;
}

}  // namespace

ControlSocket ControlSocket::connect(const std::string& path) {
  const sockaddr_un address = addressOf(path);
  FileDescriptor fd = newSocket();
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw Error(ResultCode::kSystemError, "cannot reach the driver at {}: {}", path, errnoText(errno));
  return ControlSocket(std::move(fd));
}

pid_t ControlSocket::peer() const {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return 0;
  return who.pid;
}

void ControlSocket::await(const Deadline& deadline) const {
  pollfd readable{fd_.get(), POLLIN, 0};
  while (poll(&readable, 1, deadline.pollMilliseconds()) <= 0) {
    throwIfInterrupted();
    if (deadline.passed()) throw Error(ResultCode::kSystemError, "a rank did not answer in time");
  }
}

void ControlSocket::sendBytes(const void* bytes, std::size_t count) const {
  if (::send(fd_.get(), bytes, count, MSG_NOSIGNAL) != static_cast<ssize_t>(count))
    throw Error(ResultCode::kSystemError, "the other end is gone: {}", errnoText(errno));
}

bool ControlSocket::receiveBytes(void* bytes, std::size_t count) const {
  ssize_t got;
  do got = recv(fd_.get(), bytes, count, 0);
  while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(count);
}

ControlListener::ControlListener(std::string path) : path_(std::move(path)), fd_(newSocket()) {
  const sockaddr_un address = addressOf(path_);
  constexpr int kMaxPending = 64;
  if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd_.get(), kMaxPending) != 0)
    throw Error(ResultCode::kSystemError, "cannot listen at {}: {}", path_, errnoText(errno));
}

ControlListener::~ControlListener() { unlink(path_.c_str()); }

ControlSocket ControlListener::accept() const {
  FileDescriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot accept at {}: {}", path_, errnoText(errno));
  return ControlSocket(std::move(fd));
}

}  // namespace xylem::bench
