#pragma once
// One rank's part of a collective whose data travels on the boards: what it writes onto its own, whose it
// waits for, and what it makes of them.
//
//   boards.start(work, rank, ranks);
//   for (; !boards.through(); boards.finish(rooms, factors, roomOfNextStage)) {
//     if (boards.posts()) boards.write(room);                       // and posts
//     ... until all that it awaits have posted
//   }
//
// Each stage is an exchange of its own. What is more than a room holds goes piece by piece. Of little data
// everybody reads everything. Of more that is reduced, each rank reduces its share of the elements, and what
// came out is read in another stage.

#include <span>
#include <vector>

#include "collectives/direct_share.h"

namespace xylem {

class DirectOnBoards {
 public:
  // Bytes that a rank reads from all others together, of a collective that is one piece.
  static std::size_t bytesRead(DirectKind kind, std::size_t blockBytes, int ranks);
  // Whether that is one stage.
  static bool fitsOneRoom(DirectKind kind, std::size_t blockBytes, int ranks);

  void start(const DirectWork& work, int rank, int ranks);
  bool through() const { return through_; }
  bool first() const { return done_ == 0 && !collecting_; }
  // What the room of a rank holds, at most.
  std::size_t roomBytes() const { return roomBytes_; }

  bool posts() const;
  bool awaits(int rank) const;
  void write(std::byte* room) const;
  // Ends the stage. `rooms` and `factors` by rank, this rank's room being left out; `next`: its room of the
  // stage to come.
  void finish(std::span<const std::byte* const> rooms, std::span<const Factor> factors, std::byte* next);

 private:
  void copyPiece(std::span<const std::byte* const> rooms) const;
  void reducePiece(std::span<const std::byte* const> rooms, std::span<const Factor> factors);
  void reduceShare(std::span<const std::byte* const> rooms, std::span<const Factor> factors, std::byte* next);
  void collectShares(std::span<const std::byte* const> rooms) const;
  void endPiece();

  std::size_t bytes(std::size_t elements) const { return elements * work_.reduction.elementBytes; }
  // Of the piece that goes on: elements, where it lies in a block, which block a rank's is.
  std::size_t pieceCount() const;
  std::size_t pieceAt() const { return bytes(done_); }
  std::size_t blockAt(int rank) const { return static_cast<std::size_t>(rank) * bytes(work_.count); }
  RankShare pieceShare(int rank) const;

  DirectWork work_;
  int rank_ = 0, ranks_ = 1;
  bool shares_ = false;  // the work of reducing
  std::size_t roomBytes_ = 0;
  std::size_t mostPiece_ = 0;  // elements
  std::size_t done_ = 0;       // elements
  bool collecting_ = false;    // the second stage of a piece
  bool through_ = true;
  std::vector<const std::byte*> sources_;
};

}  // namespace xylem
