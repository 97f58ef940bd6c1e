#pragma once
// Collectives among the ranks of one host in a single exchange: all ranks meet (Meeting), and the data takes
// one of five ways:
//
//  - inline (InlineExchange): in the descriptors by which ranks meet. For up to 32 bytes, or 224 that would be staged anyway.
//  - staged (StagedExchange): through the ranks' staging areas in shared memory, piece by piece. For little
//    data, and if a buffer cannot be mapped.
//  - mapped (MappedExchange): each rank takes an equal share of the elements, reads them from all inputs and
//    writes the results into all outputs.
//  - read (ReadExchange): each rank copies what it needs out of the others' processes, through the kernel, or a part of what they need into theirs. If a
//    buffer cannot be mapped, for the sizes for which this is faster than staging (CopyChoices).
//  - batched (BatchedExchange): many small collectives in one meeting; each rank performs some of them for
//    all ranks.
//
//   DirectExchange exchange(rank, mailbox, peers, false, false);
//   exchange.start({.function = Function::kAllReduce, .input = in, .output = out, .count = 2, .reduction = r});
//   while (exchange.step() != DirectExchange::Outcome::kDone) backoff.pause();
//
// All ranks take the same way, because they choose it from the calls, from what all of them have posted, and
// from their count of operations alone. Whether data of some size is staged or read is found out while running (ReadOrStage).
// Every element is combined in the order of the ranks, by one rank only or by all alike.

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/collectives/batched_exchange.h"
#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/first_look.h"
#include "runtime/collectives/inline_exchange.h"
#include "runtime/collectives/mapped_exchange.h"
#include "runtime/collectives/meeting.h"
#include "runtime/collectives/peer_distances.h"
#include "runtime/collectives/read_exchange.h"
#include "runtime/collectives/read_or_stage.h"
#include "runtime/collectives/shared_work.h"
#include "runtime/collectives/staged_exchange.h"
#include "runtime/collectives/streamed_results.h"
#include "runtime/transport/choices/copy_choices.h"
#include "runtime/transport/choices/two_ways.h"
#include "runtime/transport/local/readable_memory.h"

namespace xylem::collectives {

class DirectExchange {
 public:
  // kDeclined: a batch with buffers that some rank cannot map.
  enum class Outcome { kDone, kAdvanced, kWouldBlock, kDeclined };

  using Now = PeerDistances::Now;

  // `peers`: by rank; the entry of `rank` itself is not used. `oneProcess`: all ranks are in one process.
  // `oversubscribed`: the host has more ranks than cores. It and `choices` are the same on all ranks. `tell`, if it is not empty,
  // hears on the rank that decides how data is moved from now on, in the thread that calls step(). `shared` divides what this rank
  // copies and reduces among threads. `now` is the clock by which that rank decides.
  DirectExchange(int rank, transport::Mailbox& mailbox, std::vector<DirectPeer> peers, bool oneProcess,
                 bool oversubscribed, const transport::CopyChoices& choices = {},
                 transport::TellChange tell = {}, const SharedWork& shared = SharedWork(),
                 Now now = std::chrono::steady_clock::now);
  DirectExchange(const DirectExchange&) = delete;
  DirectExchange& operator=(const DirectExchange&) = delete;

  // Starts the next operation; all ranks start the same ones in the same order.
  void start(const DirectWork& work);
  // Starts the same operation again, in other buffers. The last start() was that of this operation if
  // starts() has not changed since.
  void startAgain(const std::byte* input, std::byte* output);
  std::uint64_t starts() const { return starts_; }
  // Starts many operations at once (BatchedExchange::takes); `works` stays until the end. If this returns
  // false, or step() declines, each of them has to be started alone.
  bool startBatch(std::span<const DirectWork> works);
  // Goes on as far as possible without waiting.
  Outcome step() { return way_ == Way::kInline ? stepInline() : stepOther(); }
  // After kWouldBlock: the rank that has to act first.
  int waitsFor() const { return meeting_.waitsFor(); }
  // Whether this rank has written results of the last operation on mapped buffers past the caches.
  bool streams() const { return mapped_.streams(); }
  // Whether this rank takes the core of another one for far.
  bool isFar(int rank) const { return distances_.isFar(rank); }

 private:
  enum class Way { kInline, kStaged, kMapped, kRead, kBatched };
  enum class Phase { kPost, kMeet, kWork, kLeave };
  Way chooseWay();
  void startInline();
  void beginInline();
  void begin(Way way);
  void beginStaged();
  void nextStage();
  void nextMeeting();
  Outcome stepInline();
  Outcome stepOther();
  Outcome stepStaged();
  // Not inlined, so that small staged operations need no stack for the rest.
  [[gnu::noinline]] Outcome stepMeeting();
  bool findBuffers();
  FirstLook* lookForStaged();
  void noteDistance();
  void chooseHandovers();
  // One rank decides for all whether results on mapped buffers are written past the caches, and tells them in what it posts for the operation.
  static constexpr int kDecidesStreaming = 0;
  bool decidesStreaming() const { return meeting_.rank() == kDecidesStreaming; }
  void chooseStreaming();
  void noteStreaming();
  // Whether ranks post if their buffers can be read, which takes a trial the first time.
  bool saysReadable() const { return mayRead_ || unreadable_; }
  bool areReadable();
  // Puts the memory of this rank that the others will use into huge pages, if they often do. Whether that took a while.
  bool makeHuge();
  bool postStaged();
  [[gnu::noinline]] std::uint8_t buffersNow();
  void post();
  bool meetStaged();
  bool meet();
  // Throws: `rank` has called `theirs`, this rank `mine`.
  [[noreturn]] void failDifferent(int rank, const transport::PostedCall& theirs,
                                  const transport::PostedCall& mine) const;
  bool anyPosted(std::uint8_t flag) const;
  bool allPosted(std::uint8_t flag) const;
  Outcome finishStage();
  Outcome work();

  Meeting meeting_;
  const BufferReach reach_;
  const bool oversubscribed_;
  const transport::CopyChoices choices_;
  const transport::TellChange tell_;
  const SharedWork shared_;
  const bool admitsReaders_;  // all other ranks can read this one's process
  transport::ReadableMemory ownMemory_;
  PeerDistances distances_;
  ReadOrStage ways_;
  std::uint64_t starts_ = 0;  // without repetitions
  DirectWork work_;
  // `work_`, as this rank posts it. Not every rank posts, so calls of others are compared with this one.
  transport::PostedCall call_;
  Way way_ = Way::kStaged;
  Phase phase_ = Phase::kPost;
  bool isBrought_ = false;     // data goes one way, and this rank is one that it is brought to
  bool alwaysStaged_ = false;  // `work_` is staged wherever buffers lie, if it is not inline
  // The following are as the last work that was not inline left them.
  bool stagedIsPrepared_ = false;  // `staged_` knows `work_`
  bool mayRead_ = false;           // `work_` is read, if buffers cannot be mapped
  bool tellsToStream_ = false;     // this rank tells all to write results on mapped buffers past the caches
  bool beats_ = false;             // ranks find out by `work_` how far their cores are from each other
  bool unmappable_ = false;        // some buffer was, in the last operation for which that mattered
  bool unreadable_ = false;        // likewise: the kernel lets no other process read it
  bool closed_ = false;            // some rank can never read another one's process
  // At data that goes one way; and at little that goes both ways, in the first line of descriptors, or in more lines, which take longer
  // to write.
  FirstLook oneWayLook_{FirstLook::kOneWay}, inlineLook_{FirstLook::kBothWays},
      littleLook_{FirstLook::kBothWays};
  FirstLook* look_ = nullptr;  // of `work_`; null: this rank looks at once
  InlineExchange inline_;
  StagedExchange staged_;
  MappedExchange mapped_;
  ReadExchange reading_;
  StreamedResults streamed_;
  BatchedExchange batched_;
};

}  // namespace xylem::collectives
