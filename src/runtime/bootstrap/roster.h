#pragma once
// Which seat at a root somebody has who says that he is a rank of its job. The first who comes says how large
// the job is; whoever contradicts him, or claims what cannot be, is refused.
//
//   Roster roster;
//   members[roster.seatOf(hello)] = ...       // throws Error if the claim cannot be
//   roster.rankAt(0)                          // the first rank of this root's block

#include <cstddef>

#include "runtime/bootstrap/blocks.h"
#include "runtime/sockets/hello.h"

namespace xylem {

class Roster {
 public:
  std::size_t seatOf(const Hello& hello);

  // 0 until somebody has come.
  std::size_t seats() const { return seats_; }
  // Those of this root's own block, which come first. With several roots there is one more: the first rank of
  // the next block, which has its own root to report to and only wants its address passed on.
  std::size_t ownSeats() const { return seats_ == 0 ? 0 : static_cast<std::size_t>(blocks_.count(root_)); }
  int rankAt(std::size_t seat) const;
  const Blocks& blocks() const { return blocks_; }

 private:
  Blocks blocks_;
  int root_ = 0;  // which of the job's roots this one is
  std::size_t seats_ = 0;
};

}  // namespace xylem
