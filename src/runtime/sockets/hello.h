#pragma once
// What a caller says first: who he is and what he wants. To be believed once the handshake is through.

#include <array>
#include <cstdint>

#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

enum class Purpose : std::uint32_t {
  kCheckIn = 1,  // at a root
  kRing = 2,     // one rank to another, for good
  kPair = 3,     // the network transport's connection of two ranks; `detail`: which of them
  kData = 4,     // a socket that carries data; `detail`: which one of its link
  kLocal = 5,    // of the transports of one host; `detail`: which connection of the two ranks
};

struct Hello {
  char magic[8] = {'x', 'y', 'l', 'e', 'm', 'h', 'i', '1'};
  Purpose purpose = Purpose::kCheckIn;
  std::int32_t rank = -1;
  std::int32_t ranks = 0;
  // kCheckIn: how many roots the job has, and which of them is called.
  std::uint16_t roots = 1;
  std::uint16_t root = 0;
  std::uint32_t detail = 0;
  WireAddress address;  // kCheckIn: where the caller listens for the rank before it
  Secret nonce{};
};
static_assert(sizeof(Hello) == 84);

}  // namespace xylem
