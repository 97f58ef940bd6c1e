#pragma once
// One rank's part of a collective on one host whose data goes through staging areas: every rank has one in
// memory that all ranks share. Used for small operations, and for buffers that other ranks cannot map.
//
//   staged.start(work, rank, ranks);
//   while (!staged.done()) {
//     if (staged.posts()) {
//       staged.write(meeting);
//       meeting.post(call, 0);
//     }
//     staged.keepOwn();
//     waitFor(staged.awaited());
//     staged.finish(meeting);
//     meeting.next();
//   }
//
// Data that does not fit into a staging area goes piece by piece. Up to half a MiB that goes one way is cut into smaller
// pieces, so that a rank copies one out while another rank copies the next one in. Little data is read by every rank that needs the result. To reduce more
// data, each rank reduces its share of the elements in one stage and collects the others' shares in another. Each stage is a meeting
// of its own.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/meeting.h"
#include "runtime/transport/choices/copy_choices.h"

namespace xylem::collectives {

// True if each rank reduces its share of the elements, since to read more than `mostWhole` bytes would cost more than meeting
// a second time. Not for a Reduce of two ranks: there the root reads while the other rank already writes the
// next piece.
constexpr bool sharesWork(Function function, std::size_t blockBytes, int ranks, std::size_t mostWhole) {
  return (function == Function::kAllReduce || (function == Function::kReduce && ranks > 2)) &&
         blockBytes * static_cast<std::size_t>(ranks - 1) > mostWhole;
}
// True if no rank reads more than `most` bytes, in one stage or, if the data goes one way, in several that no rank answers.
constexpr bool readsAtMost(std::size_t most, Function function, std::size_t blockBytes, int ranks,
                           std::size_t mostWhole) {
  const auto others = static_cast<std::size_t>(ranks - 1);
  return blockBytes * (function == Function::kBroadcast ? 1 : others) <= most &&
         !sharesWork(function, blockBytes, ranks, mostWhole) &&
         blockBytes * (sendsBlocks(function) ? others : 1) <= transport::kMostStaged;
}
// True if staging the data is faster than mapping buffers, even if all ranks can map all of them. Reading other ranks'
// staging areas costs a transfer per cache line; beyond some, splitting the work and meeting twice costs less.
inline bool isFasterStaged(const DirectWork& work, int ranks, bool oversubscribed,
                           const transport::CopyChoices& choices) {
  // Meeting costs the most if ranks have to take turns on a core.
  constexpr std::size_t kMaxReadOversubscribed = std::size_t{32} << 10;
  const std::size_t most = isRooted(work.function) ? choices.mostStagedOneWay() : choices.staged;
  return readsAtMost(oversubscribed ? std::max(kMaxReadOversubscribed, most) : most, work.function,
                     blockBytes(work), ranks, choices.mostWhole(ranks, work.reduction.elementBytes));
}

class StagedExchange {
 public:
  // `choices`: the same on all ranks.
  explicit StagedExchange(const transport::CopyChoices& choices) : choices_(choices) {}

  // `work` stays until the end.
  void start(const DirectWork& work, int rank, int ranks);
  // The same operation again, after the buffers in `work` changed.
  void startAgain() {
    done_ = 0;
    collecting_ = through_ = false;
    nextPiece();
  }
  bool done() const { return through_; }
  bool isFirstStage() const { return done_ == 0 && !collecting_; }
  // Where the data of this stage is, and how much each rank stages at most.
  transport::StagingKind staging() const { return staging_; }
  std::size_t stagedBytes() const { return blocks_ * bytes(piece_); }

  // How staged data goes from now on: to the other ranks, and from each of them, by rank.
  void handOver(Handover to, std::vector<Handover> from) {
    to_ = to;
    from_ = std::move(from);
  }
  // True if this rank posts in this stage: a broadcast has descriptors of its root alone.
  bool posts() const { return posts_; }
  // The ranks whose descriptors this one needs in this stage.
  std::span<const int> awaited() const {
    const bool onlyRootCollects = collecting_ && work_->function == Function::kReduce;
    return onlyRootCollects && rank_ != work_->root ? std::span<const int>() : awaited_;
  }
  // Writes this rank's data of the stage into its staging area, before its descriptor is published.
  void write(Meeting& meeting);
  // Fetches the lines that this rank writes next, or that `rank` may have written already, of little data that goes one way.
  void fetchNextToWrite(Meeting& meeting) const {
    if (writes_) eachNextLine([&](std::size_t at) { prefetchToWrite(meeting.nextStaging() + at); });
  }
  void fetchNextOf(int rank, const Meeting& meeting) const {
    eachNextLine([&](std::size_t at) { prefetchToRead(meeting.nextStagingOf(rank) + at); });
  }
  // Copies from this rank's own input to its output, if nothing is reduced, while the other ranks are on
  // their way.
  void keepOwn() const {
    if (keepsOwn(*work_, rank_)) collectives::keepOwn(*work_, rank_, pieceAt(), bytes(piece_));
  }
  // Ends the stage, once all awaited ranks have posted.
  void finish(Meeting& meeting);

 private:
  template <typename Fetch>
  void eachNextLine(Fetch&& fetch) const {
    if (staging_ != transport::StagingKind::kLittle) return;
    for (std::size_t at = 0; at < bytes(maxPiece_); at += kCacheLine) fetch(at);
  }
  bool writes() const { return writes_ && !collecting_; }
  void copyPiece(const Meeting& meeting) const;
  void reducePiece();
  void reduceShare(std::byte* nextStaging);
  void collectShares() const;

  std::size_t bytes(std::size_t elements) const { return elements * work_->reduction.elementBytes; }
  void nextPiece() { piece_ = std::min(maxPiece_, work_->count - done_); }
  // Where the current piece lies in a block.
  std::size_t pieceAt() const { return bytes(done_); }
  // Where the block of `rank` lies in a buffer with blocks of all ranks.
  std::size_t blockAt(int rank) const { return static_cast<std::size_t>(rank) * bytes(work_->count); }
  // Where the block for `reader` lies in the staging area of `writer`, which has no block for itself there.
  std::size_t stagedBlockAt(int reader, int writer) const {
    return static_cast<std::size_t>(reader < writer ? reader : reader - 1) * bytes(piece_);
  }
  Handover from(int rank) const { return from_[static_cast<std::size_t>(rank)]; }
  const std::byte* stagedBy(int rank) const { return staged_[static_cast<std::size_t>(rank)]; }
  RankShare pieceShare(int rank) const;

  const transport::CopyChoices choices_;
  Handover to_ = Handover::kNearCache;
  std::vector<Handover> from_;
  const DirectWork* work_ = nullptr;
  int rank_ = 0, ranks_ = 1;
  bool reduces_ = false, sendsBlocks_ = false;
  bool shares_ = false;       // each rank reduces its share
  bool posts_ = false;        // this rank does
  bool writes_ = false;       // it stages data of its own, in the first stage of a piece
  std::vector<int> awaited_;  // ranks
  transport::StagingKind staging_ = transport::StagingKind::kNone;
  std::size_t blocks_ = 1;    // that a rank stages at once
  std::size_t maxPiece_ = 0;  // elements
  std::size_t done_ = 0;      // elements
  std::size_t piece_ = 0;     // elements of the current piece
  bool collecting_ = false;   // the second stage of a piece
  bool through_ = true;
  std::vector<const std::byte*> staged_;  // by rank: staging areas of the ranks that this one awaits
  std::vector<Factor> factors_;           // by rank
  std::vector<const std::byte*> sources_;
};

}  // namespace xylem::collectives
