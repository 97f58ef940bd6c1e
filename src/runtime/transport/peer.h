#pragma once
// What a transport knows about a rank before it connects to it. Every rank fills in its own and all ranks
// exchange them; so it is plain bytes.

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/sockets/socket_address.h"

namespace xylem {

// The name of a local socket (runtime/transport/local/unix_socket.h).
using LocalName = std::array<std::byte, 24>;

struct Peer {
  std::uint64_t hostHash = 0;          // equal on one host, different on different ones
  std::uint64_t process = 0;           // a random number per process: equal means one address space
  std::uint64_t networkNamespace = 0;  // inode: local sockets reach only as far
  std::uint64_t pidNamespace = 0;      // inode: `pid` means something only inside
  std::int64_t pid = 0;
  std::int32_t rank = -1;
  std::int32_t device = -1;
  LocalName local{};  // where this rank accepts connections of its host
  WireAddress net;    // and those of the network
};

}  // namespace xylem
