#pragma once
// One rank's part of a collective on one host whose data is so little that it lies in the descriptors by which ranks meet. Ranks read the first
// line of these whatever way data takes, so for what fits into that no other way is faster, wherever the buffers are.
//
//   if (InlineExchange::takes(work, ranks, staged)) inlined.start(work, rank, ranks);
//   if (inlined.posts()) {
//     inlined.write(meeting.mine());
//     meeting.post(call, 0);
//   }
//   inlined.keepOwn();
//   for (const int rank : inlined.awaited()) inlined.take(rank, descriptorOf(rank));
//   inlined.finish();

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/copying.h"
#include "runtime/collectives/direct_share.h"
#include "runtime/transport/local/mailbox.h"

namespace xylem::collectives {

class InlineExchange {
 public:
  // `staged`: it is faster to bring the data than to work in the buffers, wherever these are.
  static bool takes(const DirectWork& work, int ranks, bool staged) {
    return broughtBytes(work, ranks) <= (staged ? transport::kInlineBytes : transport::kFirstLineBytes);
  }
  // `work` stays. For the same operation again, only the buffers in it may change.
  void start(const DirectWork& work, int rank, int ranks);
  // Whether this rank has a descriptor: a Broadcast has that of its root alone.
  bool posts() const { return posts_; }
  // The ranks whose descriptors this one needs.
  std::span<const int> awaited() const { return awaited_; }
  // Writes this rank's data.
  void write(transport::Descriptor& mine) const {
    if (writes_ == Writes::kInput) return copyLittle(mine.data, work_->input, bytes_);
    if (writes_ == Writes::kBlocks) writeBlocks(mine);
  }
  // Fetches the lines of the next descriptor that this rank writes if the same operation follows: the others have read them. If all ranks bring
  // data, the first line alone.
  void fetchToWrite(const transport::Descriptor& next) const {
    prefetchToWrite(&next);
    if (isOneWay_ && writes_ != Writes::kNothing)
      eachFurtherLine(next, [](const std::byte* line) { prefetchToWrite(line); });
  }
  // Fetches the lines that another rank may have written already.
  void fetchToRead(const transport::Descriptor& next) const {
    prefetchToRead(&next);
    eachFurtherLine(next, [](const std::byte* line) { prefetchToRead(line); });
  }
  bool isInFirstLine() const { return brought_ <= transport::kFirstLineBytes; }
  // Copies from this rank's own input to its output, if nothing is reduced, while the other ranks are on their way.
  void keepOwn() const {
    if (keeps_) copyOwn();
  }
  // Takes what an awaited rank brings. `theirs` stays as it is until finish().
  void take(int rank, const transport::Descriptor& theirs) {
    const std::byte* const data = theirs.data + blockFrom(rank);
    if (!reduces_) return copyLittle(work_->output + outputAt(rank), data, bytes_);
    const auto r = static_cast<std::size_t>(rank);
    sources_[r] = data;
    if (work_->scaled) factors_[r] = factorOf(*work_, theirs);
  }
  // Once all awaited ranks are taken.
  void finish() {
    if (reduces_) reduce();
  }

 private:
  enum class Writes { kNothing, kInput, kBlocks };
  // Written by a rank: a block for each other rank, or one for all.
  static std::size_t broughtBytes(const DirectWork& work, int ranks) {
    const int blocks = sendsBlocks(work.function) ? std::max(1, ranks - 1) : 1;
    return blockBytes(work) * static_cast<std::size_t>(blocks);
  }
  template <typename Fetch>
  void eachFurtherLine(const transport::Descriptor& descriptor, Fetch&& fetch) const {
    const auto* const first = reinterpret_cast<const std::byte*>(&descriptor);
    const std::size_t end = offsetof(transport::Descriptor, data) + brought_;
    for (std::size_t at = kCacheLine; at < end; at += kCacheLine) fetch(first + at);
  }
  void writeBlocks(transport::Descriptor& mine) const;
  void copyOwn() const;
  void reduce();

  std::size_t blockAt(int rank) const { return static_cast<std::size_t>(rank) * bytes_; }
  std::size_t outputAt(int rank) const { return gathers_ ? blockAt(rank) : 0; }
  // Where the block for `reader` lies in the descriptor of `writer`, which has none for itself there.
  std::size_t blockFor(int reader, int writer) const {
    return blockAt(reader < writer ? reader : reader - 1);
  }
  std::size_t blockFrom(int writer) const { return sends_ ? blockFor(rank_, writer) : 0; }

  const DirectWork* work_ = nullptr;
  int rank_ = 0, ranks_ = 1;
  std::size_t bytes_ = 0, brought_ = 0;  // of a block, and in a descriptor
  bool isOneWay_ = false;
  bool sends_ = false, gathers_ = false;   // a block for each rank, and one of each
  bool posts_ = false;                     // this rank does
  Writes writes_ = Writes::kNothing;       // into its descriptor
  bool keeps_ = false;                     // it may have data for itself
  bool reduces_ = false;                   // this rank does; otherwise it copies
  std::vector<int> awaited_;               // ranks
  std::vector<const std::byte*> sources_;  // by rank
  std::vector<Factor> factors_;            // by rank
};

}  // namespace xylem::collectives
