#pragma once
// What a receiving link tells the sending one: where its next messages may go. A message is sent only to
// where it has been offered room, so that none has to be kept by libfabric.

#include <array>
#include <cstddef>
#include <cstdint>

namespace xylem {

struct FabricRoom {
  std::uint64_t address = 0;  // for writing into it
  std::uint64_t key = 0;
  std::uint32_t bytes = 0;  // at most
  std::uint32_t tag = 0;
};

constexpr std::size_t kMostRooms = 8;
struct FabricOffer {
  std::uint32_t first = 0;  // which of the link's messages the first room is for
  std::uint16_t count = 0;
  std::uint16_t writable = 0;  // 1: rooms can be written into
  std::array<FabricRoom, kMostRooms> rooms{};
};
static_assert(sizeof(FabricOffer) == 8 + kMostRooms * 24);

// Messages that a link has room for, or under way, at once.
constexpr std::size_t kMostMessages = 32;
// Offers that are on their way at once.
constexpr std::size_t kOffersUnderWay = 4;

}  // namespace xylem
