#pragma once
// The protocol by which all ranks of a host meet for one operation, whatever way its data takes: ranks
// post descriptors in their mailboxes (Mailbox), look at those of the ranks that they await, and leave once they
// are through with these descriptors and buffers. Nothing here waits: a call that cannot go on yet returns
// false, and waitsFor() names the rank that has to act first.
//
//   meeting.next();                          // or next(staging, bytes), if this rank or another one stages data
//   if (meeting.slotIsFree()) { bring(meeting.mine()); meeting.post(call, flags); }
//   if (meeting.meet(meeting.others(), compare)) use(meeting.of(peer));
//   meeting.leave();
//   if (meeting.othersLeft()) reuse(buffers);
//
// Meetings are numbered from 1 on, alike on all ranks. The descriptor of a meeting overwrites that of an
// earlier one, which all others must have left. Since a rank posts in order, its descriptor of a meeting
// shows that it has left the meetings before. The memory is laid out as in Mailbox; tests/model/mailbox.pml is
// the model of this protocol.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/collectives/staging_ring.h"
#include "runtime/transport/local/mailbox.h"
#include "runtime/transport/local/peer_memory.h"

namespace xylem::collectives {

// Another rank, as this one sees it.
struct DirectPeer {
  const transport::Mailbox* mailbox = nullptr;
  transport::PeerMemory* memory = nullptr;
};

class Meeting {
 public:
  // `mine`: written by this rank alone. `peers`: by rank; the entry of `rank` itself is not used. `cycle`: of each rank's
  // staging ring (CopyChoices::cycle), the same on all ranks.
  Meeting(int rank, transport::Mailbox& mine, std::vector<DirectPeer> peers, std::size_t cycle);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }
  // All ranks but this one.
  std::span<const int> others() const { return others_; }
  transport::Mailbox& mailbox() { return mailbox_; }
  transport::PeerMemory& memoryOf(int peer) const { return *peers_[static_cast<std::size_t>(peer)].memory; }

  // The next meeting. Ranks stage up to `bytes` for it where `staging` says; all ranks say the same.
  void next(transport::StagingKind staging = transport::StagingKind::kNone, std::size_t bytes = 0) {
    ++number_;
    restart();
    waitsFor_ = -1;
    staging_ = staging;
    if (staging != transport::StagingKind::kRing) return;
    ringBytes_ = bytes;
    ringAt_ = ring_.take(bytes, number_);
  }
  // Before each kind of waiting: starts again with the first rank.
  void restart() { next_ = 0; }
  // After a call returned false: the rank that has to act first.
  int waitsFor() const { return waitsFor_; }

  // True once all others have left the meetings whose slot and staging memory this one takes.
  bool slotIsFree() {
    const std::size_t slots = transport::areasOf(staging_);
    const std::uint64_t slotNeeds = number_ > slots ? number_ - slots : 0;
    std::uint64_t ringNeeds = 0;
    if (staging_ == transport::StagingKind::kRing) {
      if (!ringIsPopulated_) populateRing();
      ringNeeds = ring_.needed();
    }
    // The others leave all meetings before this one by themselves, and tell so of all but the last kMostUntold.
    static_assert(transport::kMostUntold < transport::kSmallStagingAreas);
    const std::uint64_t needed = std::max(slotNeeds, ringNeeds);
    return needed <= leftByAll_ || findSlot(needed);
  }
  // This rank's descriptor, and its staging area. The others poll the descriptor: it is written at once, after the data.
  transport::Descriptor& mine() { return mailbox_.slot(number_); }
  std::byte* staging() { return mailbox_.stagingArea(number_, staging_) + ringAt(); }
  // Where that is in the ring, if it is there.
  std::size_t placeInRing() const { return ringAt_; }
  // The same for the next meeting, if that stages as much.
  std::byte* nextStaging() { return mailbox_.stagingArea(number_ + 1, staging_) + nextRingAt(); }
  transport::Descriptor& nextMine() { return mailbox_.slot(number_ + 1); }
  // Counts this meeting, for another rank that times how long that takes to come.
  void beat() { mailbox_.beat.store(static_cast<std::uint32_t>(number_), std::memory_order_release); }
  const std::atomic<std::uint32_t>& beatOf(int rank) const { return mailboxOf(rank).beat; }
  void publish() { mine().number.store(number_, std::memory_order_release); }
  // Writes the call, with `flags` besides its own, and publishes the descriptor.
  void post(const transport::PostedCall& call, std::uint8_t flags) {
    transport::Descriptor& descriptor = mine();
    const auto all = static_cast<std::uint8_t>(call.flags | flags);
    descriptor.call = call;
    descriptor.call.flags = all;
    publish();
  }

  // The descriptor of any rank, and the staging area of another one. Valid after meet(), for the ranks that
  // it awaited.
  const transport::Descriptor& of(int rank) const { return mailboxOf(rank).slot(number_); }
  const transport::Descriptor& nextOf(int rank) const { return mailboxOf(rank).slot(number_ + 1); }
  const std::byte* stagingOf(int peer) const {
    return mailboxOf(peer).stagingArea(number_, staging_) + ringAt();
  }
  const std::byte* nextStagingOf(int peer) const {
    return mailboxOf(peer).stagingArea(number_ + 1, staging_) + nextRingAt();
  }

  // True once all of the `awaited` ranks have posted; `see(rank, descriptor)` is called once for each.
  template <typename See>
  bool meet(std::span<const int> awaited, See&& see) {
    for (; next_ < awaited.size(); ++next_) {
      const int rank = awaited[next_];
      const auto p = static_cast<std::size_t>(rank);
      const transport::Descriptor& theirs = peers_[p].mailbox->slot(number_);
      if (theirs.number.load(std::memory_order_acquire) != number_) return blockedBy(rank);
      see(rank, theirs);
      leftSeen_[p] = std::max(leftSeen_[p], number_ - 1);
    }
    return true;
  }

  // False if a rank has withdrawn from the job: its buffers are its own again. It will tell why. The caller
  // holds a Visit, so that a rank that withdraws later waits for its end.
  bool othersArePresent();
  void leave() {
    mailbox_.left.store(number_, std::memory_order_release);
    leftTold_ = number_;
  }
  // The same on a rank that this meeting brought data to. Ranks that bring it run ahead until no slot is free, and then load how far it is
  // over and over, each time taking the line away from this rank. So it tells only of one such meeting in a few; of all once it leaves another.
  // It tells of all meetings in the ring: their place may be needed again before kMostUntold others are over.
  void leaveOneWay() {
    if (staging_ == transport::StagingKind::kRing || number_ - leftTold_ > transport::kMostUntold) leave();
  }
  // True once all others have left this meeting.
  bool othersLeft();

 private:
  const transport::Mailbox& mailboxOf(int rank) const {
    return rank == rank_ ? mailbox_ : *peers_[static_cast<std::size_t>(rank)].mailbox;
  }
  void populateRing();
  std::size_t ringAt() const { return staging_ == transport::StagingKind::kRing ? ringAt_ : 0; }
  std::size_t nextRingAt() const {
    return staging_ == transport::StagingKind::kRing ? ring_.next(ringBytes_) : 0;
  }
  bool findSlot(std::uint64_t needed);
  bool blockedBy(int rank) {
    waitsFor_ = rank;
    return false;
  }

  const int rank_;
  transport::Mailbox& mailbox_;
  const std::vector<DirectPeer> peers_;
  std::vector<int> others_;
  std::uint64_t number_ = 0;
  transport::StagingKind staging_ = transport::StagingKind::kNone;
  StagingRing ring_;
  bool ringIsPopulated_ = false;
  std::size_t ringAt_ = 0, ringBytes_ = 0;  // of this meeting, if it is staged in the ring
  std::uint64_t leftTold_ = 0;              // the last meeting that this rank has told the others it has left
  std::vector<std::uint64_t> leftSeen_;     // by rank: meetings that it is known to have left
  std::uint64_t leftByAll_ = 0;             // meetings that all are known to have left
  std::size_t next_ = 0;                    // of the ranks to look at
  int waitsFor_ = -1;
};

}  // namespace xylem::collectives
