#include "runtime/launch/local_rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "runtime/sockets/secret.h"

namespace xylem::launch {
namespace {

constexpr std::chrono::milliseconds kRetry(5);

// A name in the abstract namespace: it disappears with the socket.
struct Name {
  explicit Name(const std::string& job) {
    std::array<std::uint8_t, 16> digest;
    sockets::hash(digest.data(), digest.size(), job.data(), job.size());
    std::string text = fmt::format("xylem-launch-{}-", getuid());
    for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, text.data(), text.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t size = 0;
};

FileDescriptor openSocket() {
  FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot open a local socket: {}", errnoText(errno));
  return fd;
}

bool isSameUser(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == getuid();
}

bool isReadable(int fd, const Deadline& deadline) {
  pollfd waiting{fd, POLLIN, 0};
  while (!deadline.passed())
    if (poll(&waiting, 1, deadline.pollMilliseconds()) > 0) return true;
  return false;
}

// A process says its rank as soon as it is connected.
constexpr std::chrono::seconds kCallerTime{1};

// Sends the text to one process that connects. False if it is not one of the job that still needs the text.
bool serve(int listener, const std::string& text, std::vector<bool>& served) {
  const FileDescriptor caller(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  // One that says nothing must not keep the others waiting.
  const Deadline said = Deadline::after(kCallerTime);
  if (!caller || !isSameUser(caller.get()) || !isReadable(caller.get(), said)) return false;
  std::uint32_t rank = 0;
  if (recv(caller.get(), &rank, sizeof rank, 0) != sizeof rank || rank >= served.size() || served[rank])
    return false;
  if (send(caller.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    return false;
  served[rank] = true;
  return true;
}

void serveAll(const LocalRendezvous& rendezvous, const std::string& text, const Deadline& deadline) {
  const Name name(rendezvous.job);
  const FileDescriptor listener = openSocket();
  if (bind(listener.get(), name.get(), name.size) != 0 || listen(listener.get(), SOMAXCONN) != 0)
    throw Error(
        ResultCode::kSystemError,
        "cannot meet the other processes of {}: {}; set NCCL_COMM_ID=host:port if two programs of one job "
        "run at once",
        rendezvous.job, errnoText(errno));
  std::vector<bool> served(static_cast<std::size_t>(rendezvous.size));
  served[0] = true;  // this process
  for (int left = rendezvous.size - 1; left > 0;) {
    if (!isReadable(listener.get(), deadline))
      throw Error(ResultCode::kSystemError, "timed out waiting for {} of {} processes of {}", left,
                  rendezvous.size, rendezvous.job);
    left -= serve(listener.get(), text, served) ? 1 : 0;
  }
}

// Returns an empty text if the first process does not listen yet.
std::string askFirst(const LocalRendezvous& rendezvous, const Name& name, const Deadline& deadline) {
  const FileDescriptor fd = openSocket();
  const auto rank = static_cast<std::uint32_t>(rendezvous.rank);
  if (connect(fd.get(), name.get(), name.size) != 0 || !isSameUser(fd.get()) ||
      send(fd.get(), &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank || !isReadable(fd.get(), deadline))
    return "";
  std::array<char, 4096> buffer;
  const ssize_t count = recv(fd.get(), buffer.data(), buffer.size(), 0);
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : "";
}

}  // namespace

std::string shareLocally(const LocalRendezvous& rendezvous, const std::string& text, Deadline deadline) {
  if (rendezvous.rank == 0) {
    serveAll(rendezvous, text, deadline);
    return text;
  }
  const Name name(rendezvous.job);
  while (!deadline.passed()) {
    const std::string found = askFirst(rendezvous, name, deadline);
    if (!found.empty()) return found;
    std::this_thread::sleep_for(kRetry);
  }
  throw Error(ResultCode::kSystemError,
              "timed out: process {} of {} does not hear from process 0 on this host", rendezvous.rank,
              rendezvous.job);
}

}  // namespace xylem::launch
