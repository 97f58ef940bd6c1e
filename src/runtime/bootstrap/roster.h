#pragma once
// The list of the ranks that check in at a root. A job with several roots gives each of them a contiguous
// block of ranks (Blocks). The first hello tells the roster how many ranks and roots the job has; a hello
// that contradicts it, or cannot be, is an error. Each rank that checks in has a seat, its index at this
// root.
//
//   Roster roster;
//   members[roster.seatOf(hello)] = ...       // throws Error if the hello cannot be
//   roster.rankAt(0)                          // the first rank of this root's block

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/sockets/handshake.h"

namespace xylem::bootstrap {

// The blocks of ranks that check in at the roots of a job, as even as can be.
//
//   const Blocks blocks{.ranks = 10, .roots = 4};
//   blocks.rootOf(9)  == 3
//   blocks.first(1)   == 3        the ranks of root 1 are first(1) .. first(2) - 1
struct Blocks {
  int ranks = 1;
  int roots = 1;

  // The number of roots to use: no more than ranks.
  static int useful(std::size_t ids, int ranks) {
    return static_cast<int>(std::min<std::size_t>(ids, static_cast<std::size_t>(std::max(ranks, 1))));
  }
  int rootOf(int rank) const { return static_cast<int>(std::int64_t{rank} * roots / ranks); }
  int first(int root) const { return static_cast<int>((std::int64_t{root} * ranks + roots - 1) / roots); }
  int count(int root) const { return first(root + 1) - first(root); }
};

class Roster {
 public:
  std::size_t seatOf(const sockets::Hello& hello);

  // 0 before the first hello.
  std::size_t seats() const { return seats_; }
  // The seats of this root's own block, which come first. With several roots there is one more, for the first
  // rank of the next block: it reports to its own root, and only its address is needed here.
  std::size_t ownSeats() const { return seats_ == 0 ? 0 : static_cast<std::size_t>(blocks_.count(root_)); }
  int rankAt(std::size_t seat) const;
  const Blocks& blocks() const { return blocks_; }

 private:
  Blocks blocks_;
  int root_ = 0;  // the index of this root in the job
  std::size_t seats_ = 0;
};

}  // namespace xylem::bootstrap
