#include "support/unauthenticated_peers.h"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include "runtime/sockets/socket.h"

namespace xylem::testing {
namespace {

// If the queue of a listener is full, TCP tries again after a second.
constexpr int kConnectMilliseconds = 3000;
// Number of the staying connections that are served with every visit.
constexpr int kTurns = 2;

FileDescriptor connectTo(const ListeningSocket& door, const sockets::SocketAddress& from) {
  FileDescriptor fd(socket(door.address.ss_family, door.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return {};
  if (door.address.ss_family == AF_INET) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd.get(), from.get(), from.size()) != 0) return {};
  }
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&door.address), door.bytes) == 0) return fd;
  if (errno != EINPROGRESS) return {};
  pollfd connected{fd.get(), POLLOUT, 0};
  poll(&connected, 1, kConnectMilliseconds);
  return connected.revents == POLLOUT ? std::move(fd) : FileDescriptor();
}

sockets::Hello helloOfRank1() {
  sockets::Hello hello;
  hello.purpose = sockets::Purpose::kRing;
  hello.rank = 1;
  hello.ranks = 4;
  return hello;
}

}  // namespace

std::vector<ListeningSocket> listeningSocketsOfThisProcess() {
  std::vector<ListeningSocket> doors;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    int listens = 0;
    socklen_t bytes = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0) continue;
    ListeningSocket door;
    door.bytes = sizeof door.address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&door.address), &door.bytes) != 0) continue;
    bytes = sizeof door.type;
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &door.type, &bytes);
    doors.push_back(door);
  }
  return doors;
}

std::vector<std::byte> recordingOf(const sockets::Secret& secret) {
  sockets::HandshakeSteps caller = sockets::HandshakeSteps::call(secret, helloOfRank1());
  sockets::HandshakeSteps answerer = sockets::HandshakeSteps::answer(secret);
  std::vector<std::byte> said;
  while (caller.state() == sockets::HandshakeSteps::State::kUnderWay) {
    sockets::HandshakeSteps& from = caller.sends() ? caller : answerer;
    sockets::HandshakeSteps& to = caller.sends() ? answerer : caller;
    const std::size_t bytes = from.next().size();
    if (&from == &caller) said.insert(said.end(), from.next().begin(), from.next().end());
    std::copy_n(from.next().begin(), bytes, to.next().begin());
    from.moved(bytes);
    to.moved(bytes);
  }
  return said;
}

std::vector<std::byte> UnauthenticatedPeers::garbage() {
  std::vector<std::byte> bytes(1 + random_() % 4096);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
  return bytes;
}

bool UnauthenticatedPeers::visit(const ListeningSocket& door, UnauthenticatedKind kind) {
  goOn();
  Guest guest{connectTo(door, from_), kind};
  if (!guest.socket) return false;
  const int fd = guest.socket.get();
  const sockets::Hello hello = helloOfRank1();
  switch (kind) {
    case UnauthenticatedKind::kScan:
      return true;
    case UnauthenticatedKind::kGarbage:
      sockets::sendSome(fd, garbage());
      return true;
    case UnauthenticatedKind::kReplay:
      sockets::sendSome(fd, recording_);
      break;
    case UnauthenticatedKind::kHello:
      sockets::sendSome(fd, std::as_bytes(std::span(&hello, 1)));
      break;
    case UnauthenticatedKind::kWrongSecret:
      guest.handshake = sockets::Handshake::call(fd, sockets::randomSecret(), hello);
      guest.handshake->advance();
      break;
    case UnauthenticatedKind::kSilent:
    case UnauthenticatedKind::kSlow:
      break;
  }
  staying_.push_back(std::move(guest));
  if (staying_.size() > maxStaying_) staying_.pop_front();
  return true;
}

// Returns false if it has given up.
bool UnauthenticatedPeers::goOn(Guest& guest) {
  if (guest.handshake) return guest.handshake->advance() == sockets::Handshake::State::kUnderWay;
  const sockets::Hello hello;
  const auto bytes = std::as_bytes(std::span(&hello, 1));
  if (guest.kind == UnauthenticatedKind::kSlow && guest.said + 1 < bytes.size())
    return sockets::sendSome(guest.socket.get(), bytes.subspan(guest.said++, 1)) >= 0;
  return true;
}

void UnauthenticatedPeers::goOn() {
  for (int i = 0; i < kTurns && !staying_.empty(); ++i) {
    const auto guest = staying_.begin() + static_cast<std::ptrdiff_t>(random_() % staying_.size());
    if (!goOn(*guest)) staying_.erase(guest);
  }
}

}  // namespace xylem::testing
