#pragma once
// Collectives among the ranks of one host in a single exchange: every rank posts on its board what it brings,
// and then does its share of the work on everybody's buffers at once.
//
//   DirectExchange exchange(rank, board, peers);
//   exchange.start({.kind = DirectKind::kAllReduce, ...});
//   while ((outcome = exchange.step()) != kDone) ...
//
// Little data travels on the boards themselves; whoever needs a result computes it from the postings. Of
// more, the buffers' places are posted: each rank takes an equal share of the elements, reads them from all
// inputs and writes the results into all outputs, and leaves when all others are through with its buffers.
// Every element is combined in the order of the ranks, by one rank only or by all alike.
//
// That needs buffers that the others can reach: those of ShareableMemory, or any within one process. If any
// is out of reach, all ranks find that out from the postings alike, and everything travels on the boards
// (DirectOnBoards), piece by piece.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/collectives/direct_batch.h"
#include "runtime/collectives/direct_here.h"
#include "runtime/collectives/direct_on_boards.h"
#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/reader_distance.h"
#include "runtime/transport/local/board.h"
#include "runtime/transport/local/peer_memory.h"

namespace xylem {

// Another rank, as this one sees it.
struct DirectPeer {
  const Board* board = nullptr;
  PeerMemory* memory = nullptr;
};

class DirectExchange {
 public:
  // kDeclined: a batch of which somebody's buffers are out of reach.
  enum class Outcome { kDone, kAdvanced, kWouldBlock, kDeclined };

  // `peers`: by rank; that of `rank` itself is not looked at. `reachAll`: all ranks are in one process.
  // `crowded`: there are more ranks than cores; the same on all of them.
  DirectExchange(int rank, Board& board, std::vector<DirectPeer> peers, bool reachAll, bool crowded);

  // Whether the data of an operation travels on the boards even if all buffers can be reached. `bytes`: of a
  // block.
  static constexpr bool goesByBoards(DirectKind kind, std::size_t bytes, int ranks, bool crowded) {
    return readsAtMost(crowded          ? kMostReadInCrowd
                       : isRooted(kind) ? kMostReadOneWay
                                        : kMostReadFromBoards,
                       kind, bytes, ranks);
  }

  // The next operation; all ranks start the same ones in the same order.
  void start(const DirectWork& work);
  // The same again, in other buffers. `starts()`: nothing else has been started if it is the same as after
  // the first one.
  void startAgain(const std::byte* input, std::byte* output);
  std::uint64_t starts() const { return starts_; }
  // Many at once (DirectBatch::takes), which stay until the end. If that returns false, or they are declined,
  // each has to be started alone.
  bool startBatch(std::span<const DirectWork> works);
  Outcome step();
  // After kWouldBlock: the rank that has to act first.
  int waitsFor() const { return waitsFor_; }

 private:
  // What one rank reads from other boards costs it a transfer per cache line; beyond this, splitting the work
  // and meeting twice costs less, where buffers can be reached.
  static constexpr std::size_t kMostReadFromBoards = std::size_t{2} << 10;
  // Who only posts does not wait at all.
  static constexpr std::size_t kMostReadOneWay = std::size_t{4} << 10;
  // Meeting costs most where ranks have to take turns on a core.
  static constexpr std::size_t kMostReadInCrowd = std::size_t{32} << 10;

  enum class Phase { kPost, kMeet, kWork, kBatchWork, kLeave };
  int ranks() const { return static_cast<int>(peers_.size()); }
  void begin(bool byBoards);
  bool staysByBoards();
  bool posts() const;
  bool awaits(int rank) const;

  bool hasRoom();
  bool findRoom(std::uint64_t needed, std::uint64_t more);
  void describe(Posting& posting) const;
  bool post();
  void postBatch(Posting& posting);
  bool reachBatch();
  BufferPlace placeOf(const std::byte* data, std::size_t bytes) const;
  bool meetAll();
  void compare(int rank, const Posting& theirs) const;
  bool othersLeft();
  void leave();
  bool blockedBy(int rank);

  const Posting& postingOf(int rank) const;
  Factor factorOf(int rank) const;
  void finishStage();

  bool buffersAreReachable() const;
  bool allMeet() const;
  bool allReachable() const;
  bool isReachable(const BufferPlace& place) const;
  bool reachBuffers();
  int sourceOfCopies() const;
  Outcome work();
  bool othersAreThere();
  bool worksOn();

  const int rank_;
  Board& board_;
  const std::vector<DirectPeer> peers_;
  const bool reachAll_;
  const bool crowded_;
  std::uint64_t starts_ = 0;             // of other work than before
  std::uint64_t number_ = 0;             // of the operation
  std::vector<std::uint64_t> leftSeen_;  // by rank: operations that it is known to have left
  std::uint64_t leftByAll_ = 0;          // operations that all are known to have left
  DirectWork work_;
  Phase phase_ = Phase::kPost;
  bool alwaysByBoards_ = false;  // wherever buffers lie
  bool byBoards_ = false;        // the data travels on the boards
  bool boardsKnow_ = false;      // what `work_` is
  bool outOfReach_ = false;      // somebody's buffers were, the last time that they were needed
  std::uint64_t unlooked_ = 0;   // operations for which that was taken for granted
  int next_ = 0;                 // rank to look at next
  int waitsFor_ = -1;
  std::vector<const std::byte*> rooms_;  // by rank: those that this one awaits
  // What this rank reads and writes, where it reaches that.
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::vector<Factor> factors_;  // by rank
  DirectOnBoards onBoards_;
  ReaderDistance distance_;
  DirectHere here_;
  bool batched_ = false;          // what goes on is a batch
  std::uint64_t batches_ = 0;     // so far
  bool batchOutOfReach_ = false;  // somebody's buffers of the last one that was tried
  DirectBatch batch_;
  std::vector<DirectBatch::Other> batchOthers_;  // by rank
};

}  // namespace xylem
