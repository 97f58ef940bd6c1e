#pragma once
// The bytes that ranks send in an all-gather of data of any length, and in the exchange of addresses. Reading
// them checks every length: the bytes come from other ranks.
//
//   const std::vector<std::byte> block = blockOf(mine);     // the blocks of all ranks are concatenated
//   for (const auto& bytes : blocksOf(blocks, members, limit, what)) ...
//
// Integers are in the byte order of the machine: ranks of one job run on one architecture.

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/sockets/socket_address.h"

namespace xylem::bootstrap {

// The number of bytes, then the bytes.
std::vector<std::byte> blockOf(std::span<const std::byte> mine);

// Returns the bytes of each member, in their order. Throws if `blocks` is not one block of at most `limit`
// bytes per member; `what` names the call in errors.
std::vector<std::vector<std::byte>> blocksOf(std::span<const std::byte> blocks, std::span<const int> members,
                                             std::size_t limit, const char* what);

// Reads the addresses that a root sends: that of the next rank, or those of all `ranks`. Throws if it is
// neither.
std::vector<sockets::SocketAddress> addressesOf(std::span<const std::byte> bytes, std::size_t ranks);

}  // namespace xylem::bootstrap
