#pragma once
// The description by which other ranks connect to a rank: where it is, and where it accepts connections.
// Every rank fills in its own, and all ranks gather all of them at the start, so a Peer is plain bytes.
//
//   Peer self;
//   self.rank = rank;
//   transport.announce(self);      // fills in the addresses

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/sockets/socket_address.h"

namespace xylem::transport {

// The name of a local socket (runtime/transport/session/unix_socket.h).
using LocalName = std::array<std::byte, 24>;

struct Peer {
  std::uint64_t hostHash = 0;          // equal for ranks of one host
  std::uint64_t process = 0;           // a random number per process: equal in one address space
  std::uint64_t networkNamespace = 0;  // its inode: local sockets connect inside a namespace only
  std::uint64_t pidNamespace = 0;      // its inode: `pid` is valid inside this namespace
  std::int64_t pid = 0;
  std::int32_t rank = -1;
  std::int32_t device = -1;
  std::uint64_t gpu = 0;     // names its GPU, whatever its number is in a process; 0: its device is the host
  LocalName local{};         // where this rank accepts connections from its host
  sockets::WireAddress net;  // where it accepts connections over the network; family 0: nowhere
};

}  // namespace xylem::transport
