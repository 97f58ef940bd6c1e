#pragma once
// Unauthenticated peers: connections to the listening sockets of a job that do not belong to it. They are
// port scans, connections that send nothing, garbage, clients that send a byte now and then, recorded
// handshakes that are played again, and clients with another secret.
//
//   UnauthenticatedPeers peers(seed, 500);
//   peers.replay(recordingOf(secret));
//   for (const ListeningSocket& door : listeningSocketsOfThisProcess()) came += peers.visit(door, UnauthenticatedKind::kScan);
//   peers.leave();

#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/file_descriptor.h"
#include "runtime/sockets/handshake.h"
#include "runtime/sockets/socket_address.h"

namespace xylem::testing {

// A listening socket.
struct ListeningSocket {
  sockaddr_storage address{};
  socklen_t bytes = 0;
  int type = SOCK_STREAM;

  bool operator==(const ListeningSocket& other) const {
    return type == other.type && bytes == other.bytes && std::memcmp(&address, &other.address, bytes) == 0;
  }
};
// All listening sockets of this process, TCP and local ones.
std::vector<ListeningSocket> listeningSocketsOfThisProcess();

enum class UnauthenticatedKind {
  kScan,         // connects and closes
  kSilent,       // connects and sends nothing
  kGarbage,      // sends up to a few kilobytes of random bytes, then closes
  kSlow,         // sends the start of a hello, a byte now and then
  kHello,        // sends a whole hello, and nothing more
  kReplay,       // sends the recorded messages of a rank
  kWrongSecret,  // speaks the protocol, but has another secret
};
constexpr int kUnauthenticatedKinds = 7;

// The messages that a rank with this secret sends in a handshake.
std::vector<std::byte> recordingOf(const sockets::Secret& secret);

class UnauthenticatedPeers {
 public:
  // At most `maxStaying` connections stay open at once. `from` is the loopback address that they connect
  // from.
  UnauthenticatedPeers(std::uint64_t seed, std::size_t maxStaying, const std::string& from = "127.0.0.1")
      : random_(seed), maxStaying_(maxStaying), from_(sockets::SocketAddress::parse(from + ":0")) {}

  void replay(std::vector<std::byte> recording) { recording_ = std::move(recording); }
  // Returns whether the connection was accepted. Staying connections send something from time to time.
  bool visit(const ListeningSocket& door, UnauthenticatedKind kind);
  void leave() { staying_.clear(); }

 private:
  struct Guest {
    FileDescriptor socket;
    UnauthenticatedKind kind;
    std::size_t said = 0;
    std::optional<sockets::Handshake> handshake;
  };
  void goOn();
  bool goOn(Guest& guest);
  std::vector<std::byte> garbage();

  std::mt19937_64 random_;
  const std::size_t maxStaying_;
  const sockets::SocketAddress from_;
  std::vector<std::byte> recording_;
  std::deque<Guest> staying_;  // oldest first
};

}  // namespace xylem::testing
