#pragma once
// One rank's part of a collective whose data travels on the boards: what it writes onto its own, whose it
// waits for, and what it makes of them.
//
//   boards.start(work, rank, ranks);
//   for (; !boards.through(); boards.finish(rooms, factors, roomOfNextStage)) {
//     if (boards.writes()) boards.write(room, isNear);              // whoever posts
//     boards.keepOwn();
//     ... until all that it awaits have posted
//   }
//
// Each stage is an exchange of its own. What is more than a room holds goes piece by piece. Of little data
// everybody reads everything. Of more that is reduced, each rank reduces its share of the elements, and what
// came out is read in another stage.

#include <span>
#include <vector>

#include "runtime/collectives/direct_share.h"
#include "runtime/transport/local/board.h"

namespace xylem {

// Whether a rank brings something else for every other one.
constexpr bool postsBlocks(DirectKind kind) {
  return kind == DirectKind::kReduceScatter || kind == DirectKind::kAlltoAll;
}
// Whether each rank reduces its share, as reading everything would cost more than meeting a second time. Of
// two ranks, the root reads while the other one already writes the next piece.
constexpr bool sharesWork(DirectKind kind, std::size_t blockBytes, int ranks) {
  constexpr std::size_t kMostReadAtOnce = std::size_t{32} << 10;
  return (kind == DirectKind::kAllReduce || (kind == DirectKind::kReduce && ranks > 2)) &&
         blockBytes * static_cast<std::size_t>(ranks - 1) > kMostReadAtOnce;
}
// Whether it takes one stage, in which nobody reads more than `most` bytes.
constexpr bool readsAtMost(std::size_t most, DirectKind kind, std::size_t blockBytes, int ranks) {
  const auto others = static_cast<std::size_t>(ranks - 1);
  return blockBytes * (kind == DirectKind::kBroadcast ? 1 : others) <= most &&
         !sharesWork(kind, blockBytes, ranks) &&
         blockBytes * (postsBlocks(kind) ? others : 1) <= kLargeRoomBytes;
}

class DirectOnBoards {
 public:
  // `work` stays until the end.
  void start(const DirectWork& work, int rank, int ranks);
  // The same, with other buffers.
  void startAgain() {
    done_ = 0;
    collecting_ = through_ = false;
  }
  bool through() const { return through_; }
  bool first() const { return done_ == 0 && !collecting_; }
  // What the room of a rank holds, at most.
  std::size_t roomBytes() const { return roomBytes_; }

  // A broadcast comes from its root alone.
  bool posts() const { return work_->kind != DirectKind::kBroadcast || rank_ == work_->root; }
  bool awaits(int rank) const {
    if (rank == rank_) return false;
    if (work_->kind == DirectKind::kBroadcast) return rank == work_->root;
    return work_->kind != DirectKind::kReduce || rank_ == work_->root || (shares_ && !collecting_);
  }
  // Whether this rank has anything to write in this stage. The root of a reduction keeps its data to itself,
  // and what is collected is there already.
  bool writes() const {
    return !collecting_ && (shares_ || work_->kind != DirectKind::kReduce || rank_ != work_->root);
  }
  // `isNear`: the cores of those who read it.
  void write(std::byte* room, bool isNear) const;
  // What this rank's output has from its own input, where nothing is reduced: while the others are on their
  // way.
  void keepOwn() const;
  // Ends the stage. `rooms` and `factors` by rank, this rank's room being left out; `next`: its room of the
  // stage to come.
  void finish(std::span<const std::byte* const> rooms, std::span<const Factor> factors, std::byte* next);

 private:
  void copyPiece(std::span<const std::byte* const> rooms) const;
  void reducePiece(std::span<const std::byte* const> rooms, std::span<const Factor> factors);
  void reduceShare(std::span<const std::byte* const> rooms, std::span<const Factor> factors, std::byte* next);
  void collectShares(std::span<const std::byte* const> rooms) const;

  std::size_t bytes(std::size_t elements) const { return elements * work_->reduction.elementBytes; }
  // Of the piece that goes on: elements, where it lies in a block, which block a rank's is.
  std::size_t pieceCount() const;
  std::size_t pieceAt() const { return bytes(done_); }
  std::size_t blockAt(int rank) const { return static_cast<std::size_t>(rank) * bytes(work_->count); }
  // Where the block for `reader` lies in the room of `writer`, which has none for itself.
  std::size_t roomOf(int reader, int writer) const {
    return static_cast<std::size_t>(reader < writer ? reader : reader - 1) * bytes(pieceCount());
  }
  RankShare pieceShare(int rank) const;

  const DirectWork* work_ = nullptr;
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
