#pragma once
// What ranks tell each other in an exchange, as bytes, and what is read out of them. Of what another rank
// sent, nothing is believed that is not there.
//
//   tell(parent, tag, blockOf(mine));                                 // each its own; they are put together
//   for (const auto& block : blocksOf(heard, members, limit, what)) ...
//
// All integers as the machine has them: ranks of one job run on one architecture.

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/sockets/socket_address.h"

namespace xylem {

// How many bytes a rank has to say, then these.
std::vector<std::byte> blockOf(std::span<const std::byte> mine);

// One block of each member, in their order and of at most `limit` bytes. Throws if the bytes are anything
// else; `what` is the exchange that they were heard in.
std::vector<std::vector<std::byte>> blocksOf(std::span<const std::byte> heard, std::span<const int> members,
                                             std::size_t limit, const char* what);

// Where ranks listen, as a root says it: of the next rank alone, or of all `ranks`. Throws if it is neither.
std::vector<SocketAddress> addressesOf(std::span<const std::byte> told, std::size_t ranks);

}  // namespace xylem
