#pragma once
// One input of the fuzzer of exchanges: bytes that should be one block of each member, or the addresses that
// a root tells, or what members say, which comes out as it went in, and is refused when it is cut off.
//
//   feedGather(bytes);   // true if nothing was refused

#include <numeric>
#include <vector>

#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/bootstrap/gathered.h"

namespace xylem {

using GatheredBlocks = std::vector<std::vector<std::byte>>;

inline std::vector<int> gatheringRanks(std::uint8_t number) {
  std::vector<int> members(1 + number % 16);
  std::iota(members.begin(), members.end(), 0);
  return members;
}

inline void feedBlocks(Input input) {
  const std::vector<int> members = gatheringRanks(input.take<std::uint8_t>());
  const std::size_t limit = input.take<std::uint32_t>();
  const auto heard = input.piece(input.left());
  std::size_t bytes = 0;
  const GatheredBlocks blocks = bootstrap::blocksOf(heard, members, limit, "an exchange");
  require(blocks.size() == members.size());
  for (const auto& block : blocks) {
    require(block.size() <= limit);
    bytes += sizeof(std::uint64_t) + block.size();
  }
  require(bytes == heard.size());
}

inline void feedAddresses(Input input) {
  const std::size_t ranks = 1 + input.take<std::uint8_t>();
  const auto told = input.piece(input.left());
  const std::vector<sockets::SocketAddress> addresses = bootstrap::addressesOf(told, ranks);
  require(addresses.size() == 1 || addresses.size() == ranks);
  for (const sockets::SocketAddress& address : addresses) require(!address.text().empty());
}

inline void feedWhatMembersSay(Input input) {
  const std::vector<int> members = gatheringRanks(input.take<std::uint8_t>());
  const std::size_t cut = input.take<std::uint16_t>();
  GatheredBlocks said;
  std::vector<std::byte> heard;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto piece = input.piece(input.take<std::uint8_t>());
    said.emplace_back(piece.begin(), piece.end());
    const std::vector<std::byte> block = bootstrap::blockOf(piece);
    heard.insert(heard.end(), block.begin(), block.end());
  }
  require(bootstrap::blocksOf(heard, members, 255, "an exchange") == said);
  heard.resize(cut % (heard.size() + 1));
  require(bootstrap::blocksOf(heard, members, 255, "an exchange") == said);
}

inline bool feedGather(std::string_view bytes) {
  Input input(bytes);
  try {
    switch (input.take<std::uint8_t>() % 3) {
      case 0:
        feedBlocks(input);
        break;
      case 1:
        feedAddresses(input);
        break;
      default:
        feedWhatMembersSay(input);
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
