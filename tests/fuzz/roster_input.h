#pragma once
// One input of the roster fuzzer: what callers at a root claim to be, 13 bytes each. A claim gets the seat of
// its rank, or is refused with an Error.
//
//   feedRoster(bytes);   // true if all claims were accepted

#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/bootstrap/roster.h"

namespace xylem {

inline bool feedRoster(std::string_view bytes) {
  Input input(bytes);
  bootstrap::Roster roster;
  bool all = true;
  do {
    sockets::Hello hello;
    hello.purpose = static_cast<sockets::Purpose>(input.take<std::uint8_t>());
    hello.rank = input.take<std::int32_t>();
    hello.ranks = input.take<std::int32_t>();
    hello.roots = input.take<std::uint16_t>();
    hello.root = input.take<std::uint16_t>();
    try {
      const std::size_t seat = roster.seatOf(hello);
      require(seat < roster.seats() && roster.ownSeats() <= roster.seats());
      require(roster.seats() <= roster.ownSeats() + 1 && roster.ownSeats() >= 1);
      require(roster.rankAt(seat) == hello.rank && roster.blocks().ranks == hello.ranks);
    } catch (const Error&) {
      all = false;
    }
  } while (!input.empty());
  return all;
}

}  // namespace xylem
