#pragma once
// What a transport knows about a rank before it connects to it. Every rank fills in its own and all ranks
// exchange them; so it is plain bytes.

#include <array>
#include <cstddef>
#include <cstdint>

namespace xylem {

// Where a transport of a rank can be reached; what the bytes mean is the transport's affair.
using TransportAddress = std::array<std::byte, 64>;

struct Peer {
  std::uint64_t hostHash = 0;  // equal on one host, different on different ones
  std::int64_t pid = 0;
  std::int32_t rank = -1;
  std::int32_t device = -1;
  TransportAddress shm{};
};

}  // namespace xylem
