#pragma once
// The writing end of a queue (queue.h). Nothing here waits: a call that cannot succeed yet returns null,
// false or 0 and changes nothing, and the caller tries again later. One thread may use an end at a time.
//
//   SendEnd end(peer, queue);
//   if (!end.send(protocol, data, bytes)) return Progress::kWouldBlock;
//   if (std::byte* slot = end.reserve(protocol)) {        // or write the payload in place
//     combine(slot, ...);
//     end.commit(protocol, bytes);
//   }

#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "core/copying.h"
#include "runtime/transport/local/peer_memory.h"
#include "runtime/transport/queue/copy_sharing.h"
#include "runtime/transport/queue/low_latency.h"
#include "runtime/transport/queue/pump.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

class SendEnd {
 public:
  // `memory` lets share() send by reference, `pump` carries the steps on over the network. Each may be null,
  // and must outlive the end.
  SendEnd(int peer, const QueueMemory& queue, PeerMemory* memory = nullptr, Pump* pump = nullptr);

  int peer() const { return peer_; }
  // The number of the next step to send.
  std::uint64_t nextStep() const { return step_; }
  Pump* pump() const { return pump_; }
  const QueueControl& control() const { return *queue_.control; }
  const QueueMemory& queue() const { return queue_; }
  // The largest payload of a step, in bytes.
  std::size_t stepBytes(Protocol protocol) const { return queue_.stepBytes[protocol]; }

  // Memory for the next step's payload; null if the queue is full. Returns the same memory until commit.
  std::byte* reserve(Protocol protocol) {
    if (!hasSpace()) return nullptr;
    return inSlots(protocol) ? slot() : staging_.get(largestStep_);
  }
  // Sends the first `bytes` bytes of the reserved memory.
  void commit(Protocol protocol, std::size_t bytes) {
    if (inSlots(protocol))
      publishInSlot(bytes, 0);
    else
      pack(protocol, staging_.get(largestStep_), bytes);
  }
  // Copies `data` into the queue as the next step. Returns false if the queue is full.
  bool send(Protocol protocol, const std::byte* data, std::size_t bytes) {
    assert(bytes <= stepBytes(protocol));
    if (!hasSpace()) return false;
    put(protocol, data, bytes);
    return true;
  }
  // Like send(), but if the peer can read `data` in place, only a note with its address is sent. The data
  // must not change until drained().
  bool share(Protocol protocol, const std::byte* data, std::size_t bytes) {
    if (memory_ == nullptr || protocol != Protocol::kSimple || bytes < kMinSharedBytes)
      return send(protocol, data, bytes);
    return shareSimple(data, bytes);
  }
  // Sends the next piece of a message of `whole` bytes that has `left` bytes left, starting at `data`: up to 1 GiB by a note
  // if the peer can read `data` in place, otherwise one step. Returns the bytes of the piece; 0 if the queue
  // is full. The data must not change until drained(). The peer receives with RecvEnd::takePiece.
  // `helps`: the caller calls help() while it waits.
  std::size_t sendPiece(Protocol protocol, const std::byte* data, std::size_t left, std::size_t whole,
                        bool helps = false) {
    if (!hasSpace()) return 0;
    const std::size_t step = std::min(left, stepBytes(protocol));
    if (protocol == Protocol::kSimple) return sendSimplePiece(data, left, whole, step, helps);
    put(protocol, data, step);
    return step;
  }
  // If the peer has offered its output for a piece that sendPiece() has shared, copies a part of that there, with the threads of `sharing` if
  // it is not null. Returns the bytes of that part; 0 if there is none to copy. After drained().
  std::size_t help(const CopySharing* sharing = nullptr);
  // Returns whether the peer has finished reading everything that was shared; true if nothing was.
  bool drained() { return seenHead_ >= sharedUpTo_ || findDrained(); }

  // For a rank that gives up; any thread may call both. After withdraw() the peer begins no further read of
  // shared data. A read that has begun goes on as long as beingRead().
  void withdraw() noexcept { queue_.control->withdrawn.store(1, std::memory_order_seq_cst); }
  bool beingRead() const noexcept { return queue_.control->reading.load(std::memory_order_seq_cst) != 0; }

  // Sets the label that the notes of steps in slots carry from now on. Only a pump reads it.
  void label(std::uint64_t label) { label_ = label; }

  // Hands the network what it has not taken yet. A thread that waits for something else calls this, as it
  // may be waiting for an answer to those very steps.
  void push() {
    if (pump_ != nullptr && seenHead_ < step_) pushOn();
  }

  // Shorter data is copied, not shared: for the peer, reading by reference costs as much as copying a KiB.
  static constexpr std::size_t kMinSharedBytes = 3 << 9;

 private:
  static constexpr std::size_t kMaxHelpBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLeastMoved = std::size_t{2} << 10;
  bool inSlots(Protocol protocol) const { return protocol == Protocol::kSimple || pump_ != nullptr; }
  std::byte* slot() const { return queue_.simple + step_ % kQueueSteps * queue_.slotBytes; }
  // Where a message that is one step lies in its slot. Little is always in the same place, which stays in the first-level caches. So are
  // the steps of longer messages: all slots together are as large as a second-level cache.
  std::size_t placeOf(std::size_t message) {
    const bool moves = queue_.isWide() && message > kLeastMoved && message <= stepBytes(Protocol::kSimple);
    return moves ? nextPlace(message) : 0;
  }
  std::size_t nextPlace(std::size_t bytes);
  bool hasSpace() { return step_ < limit_ || findSpace(); }
  bool findSpace();
  bool findDrained();
  // Loads the reader's counter and updates what follows from it.
  void refresh();
  void pushOn();
  // Into the next slot, which is free.
  void put(Protocol protocol, const std::byte* data, std::size_t bytes, std::size_t place = 0,
           Handover handover = Handover::kFarCache) {
    if (!inSlots(protocol)) return pack(protocol, data, bytes);
    if (bytes > 0) copyToCore(slot() + place, data, bytes, handover);
    publishInSlot(bytes, place);
  }
  // Queues with a pump have no wide slots.
  void publishInSlot(std::size_t bytes, std::size_t place) {
    publish({.region = 0, .bytes = static_cast<std::uint32_t>(bytes), .address = label_ + place});
  }
  void publish(const StepNote& note) {
    queue_.control->notes[step_ % kQueueSteps] = note;
    queue_.control->tail.store(++step_, std::memory_order_release);
    if (pump_ != nullptr) pump_->pump();
  }
  std::byte* llSlot(std::uint64_t step) const { return queue_.ll + step % kQueueSteps * llSlotBytes_; }
  // The reader has read what was in the slot of the next step. So the lines for a step like this one are fetched
  // before they are written.
  void fetchNextLlSlot(std::size_t bytes) const {
    for (std::size_t at = 0; at < fetchedLlBytes(bytes); at += kCacheLine)
      prefetchToWrite(llSlot(step_ + 1) + at);
  }
  void pack(Protocol protocol, const std::byte* data, std::size_t bytes) {
    if (protocol == Protocol::kLl) {
      packLl(llSlot(step_), llFlag(step_), data, bytes);
      fetchNextLlSlot(bytes);
    } else {
      packLl128(queue_.ll128 + step_ % kQueueSteps * ll128SlotBytes_, ll128Flag(step_), data, bytes);
    }
    ++step_;
  }
  // Whether the pieces of messages that go by Simple are shared, if they are long enough.
  bool sharesPieces() const { return memory_ != nullptr && pump_ == nullptr; }
  void publishShared(const StepNote& note, const std::byte* data) {
    shared_[step_ % kQueueSteps] = {data, note.bytes};
    publish(note);
    sharedUpTo_ = step_;
  }
  bool shareSimple(const std::byte* data, std::size_t bytes);
  // Into the next slot, which is free. `step`: the bytes that fit there.
  std::size_t sendSimplePiece(const std::byte* data, std::size_t left, std::size_t whole, std::size_t step,
                              bool helps);

  std::uint64_t step_;            // the next step
  std::uint64_t limit_;           // steps below it have a free slot, by the last refresh()
  std::uint64_t clearAt_;         // the LL words of its slot must be cleared before this step
  std::uint64_t seenHead_;        // the reader's counter, by the last refresh()
  std::uint64_t sharedUpTo_ = 0;  // 1 + the last step that was shared
  std::array<std::span<const std::byte>, kQueueSteps> shared_;  // their payloads, by slot
  std::uint64_t label_ = 0;
  QueueMemory queue_;
  std::size_t llSlotBytes_;
  std::size_t ll128SlotBytes_;
  std::size_t largestStep_;
  int peer_;
  bool isPopulated_ = false;                 // the wide slots have their memory
  bool messageIsRead_ = false;               // through the kernel, if the peer can map it in no other way
  Handover handover_ = Handover::kFarCache;  // of the message that is under way
  std::uint32_t pieces_ = 0;                 // as in QueueControl::beat
  PeerMemory* memory_;
  Pump* pump_;
  Staging staging_;
};

}  // namespace xylem::transport
