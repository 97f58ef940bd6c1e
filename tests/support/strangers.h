#pragma once
// Those who call at the listening sockets of a job and do not belong to it: port scans, connections that say
// nothing, garbage, clients that say a byte now and then, recorded handshakes played again, clients with
// another secret.
//
//   Strangers strangers(seed, 500);
//   strangers.replay(recordingOf(secret));
//   for (const Door& door : doorsOfThisProcess()) came += strangers.visit(door, StrangerKind::kScan);
//   strangers.leave();

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
struct Door {
  sockaddr_storage address{};
  socklen_t bytes = 0;
  int type = SOCK_STREAM;

  bool operator==(const Door& other) const {
    return type == other.type && bytes == other.bytes && std::memcmp(&address, &other.address, bytes) == 0;
  }
};
// All that this process listens at, of TCP and local ones.
std::vector<Door> doorsOfThisProcess();

enum class StrangerKind {
  kScan,         // connects and closes
  kSilent,       // connects and says nothing
  kGarbage,      // up to a few kilobytes of anything, then closes
  kSlow,         // the start of a hello, a byte now and then
  kHello,        // a whole hello, and nothing more
  kReplay,       // what a rank once said
  kWrongSecret,  // speaks the protocol, but has another secret
};
constexpr int kStrangerKinds = 7;

// What a rank with this secret says in a handshake.
std::vector<std::byte> recordingOf(const Secret& secret);

class Strangers {
 public:
  // Of those that stay, so many stay at once. `from`: the address of the loopback that they call from.
  Strangers(std::uint64_t seed, std::size_t mostStaying, const std::string& from = "127.0.0.1")
      : random_(seed), mostStaying_(mostStaying), from_(SocketAddress::parse(from + ":0")) {}

  void replay(std::vector<std::byte> recording) { recording_ = std::move(recording); }
  // Whether somebody could connect. Those that stay say something from time to time.
  bool visit(const Door& door, StrangerKind kind);
  void leave() { staying_.clear(); }

 private:
  struct Guest {
    FileDescriptor socket;
    StrangerKind kind;
    std::size_t said = 0;
    std::optional<Handshake> handshake;
  };
  void goOn();
  bool goOn(Guest& guest);
  std::vector<std::byte> garbage();

  std::mt19937_64 random_;
  const std::size_t mostStaying_;
  const SocketAddress from_;
  std::vector<std::byte> recording_;
  std::deque<Guest> staying_;  // oldest first
};

}  // namespace xylem::testing
