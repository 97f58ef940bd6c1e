#pragma once
// The writing end of a queue.
//
//   if (std::byte* slot = end.reserve(protocol)) { combine(slot, ...); end.commit(protocol, bytes); }
//   if (!end.send(protocol, data, bytes)) return Progress::kWouldBlock;
//
// Nothing waits: what cannot be done yet returns null or false and changes nothing. One thread at a time.

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/transport/queue/ll128_lines.h"
#include "runtime/transport/queue/ll_words.h"
#include "runtime/transport/local/peer_memory.h"
#include "runtime/transport/net/pump.h"
#include "runtime/transport/queue/queue.h"
#include "runtime/transport/queue/staging.h"

namespace xylem {

class SendEnd {
 public:
  // `memory` lets share() send by reference, `pump` carries the steps on over the network. Both may be null
  // and must outlive the end.
  SendEnd(int peer, const QueueMemory& queue, PeerMemory* memory = nullptr, Pump* pump = nullptr);

  int peer() const { return peer_; }
  // The next one, and what carries the steps on, or null.
  std::uint64_t nextStep() const { return step_; }
  Pump* pump() const { return pump_; }
  const QueueControl& control() const { return *queue_.control; }
  // The payload that a step carries at most.
  std::size_t stepBytes(Protocol protocol) const { return queue_.stepBytes[protocol]; }

  // Room for the next step's payload, or null while the queue is full. Asked again before commit, the same.
  std::byte* reserve(Protocol protocol) {
    if (!hasRoom()) return nullptr;
    return inSlots(protocol) ? slot() : staging_.get(largestStep_);
  }
  // Sends what was reserved.
  void commit(Protocol protocol, std::size_t bytes) {
    if (inSlots(protocol))
      publish({.region = 0, .bytes = static_cast<std::uint32_t>(bytes), .address = label_});
    else
      pack(protocol, staging_.get(largestStep_), bytes);
  }
  // reserve, copy and commit.
  bool send(Protocol protocol, const std::byte* data, std::size_t bytes) {
    assert(bytes <= stepBytes(protocol));
    if (!hasRoom()) return false;
    if (inSlots(protocol)) {
      if (bytes > 0) std::memcpy(slot(), data, bytes);
      publish({.region = 0, .bytes = static_cast<std::uint32_t>(bytes), .address = label_});
    } else {
      pack(protocol, data, bytes);
    }
    return true;
  }
  // As send, but where the peer can reach `data` itself it is told only where it lies, and the data must stay
  // as it is until drained().
  bool share(Protocol protocol, const std::byte* data, std::size_t bytes) {
    if (memory_ == nullptr || protocol != Protocol::kSimple || bytes < kLeastShared)
      return send(protocol, data, bytes);
    return shareSimple(data, bytes);
  }
  // Of a message with `left` bytes to go: hands over the next piece, which is all of it where the peer can
  // reach `data` itself, and a step elsewhere. Returns its bytes, 0 while there is no room. As after share,
  // the data must stay until drained(). The other side: RecvEnd::takePiece.
  std::size_t sendPiece(Protocol protocol, const std::byte* data, std::size_t left);
  // Whether the peer is through with everything that was shared. At once true if nothing was.
  bool drained() { return seenHead_ >= sharedUpTo_ || findDrained(); }

  // For a rank that gives up, from any thread: the peer begins to read nothing more of what was shared. What
  // it is reading already, it is still reading as long as beingRead().
  void withdraw() noexcept { queue_.control->withdrawn.store(1, std::memory_order_seq_cst); }
  bool beingRead() const noexcept { return queue_.control->reading.load(std::memory_order_seq_cst) != 0; }

  // What the notes of steps in slots say from now on beside that: something for the pump. Readers do not
  // look.
  void label(std::uint64_t label) { label_ = label; }

  // Goes on with what the network has not taken yet. For those who wait for something else meanwhile, maybe
  // for the answer to it.
  void push() {
    if (pump_ != nullptr && seenHead_ < step_) pushOn();
  }

  // Below this a copy costs less than what the peer pays for reaching into other memory: its side of a
  // reference costs as much as copying a KiB.
  static constexpr std::size_t kLeastShared = 3 << 9;

 private:
  bool inSlots(Protocol protocol) const { return protocol == Protocol::kSimple || pump_ != nullptr; }
  std::byte* slot() const {
    return queue_.simple + step_ % kQueueSteps * queue_.stepBytes[Protocol::kSimple];
  }
  bool hasRoom() { return step_ < limit_ || findRoom(); }
  bool findRoom();
  bool findDrained();
  void look();
  void pushOn();
  void publish(const StepNote& note) {
    queue_.control->notes[step_ % kQueueSteps] = note;
    queue_.control->tail.store(++step_, std::memory_order_release);
    if (pump_ != nullptr) pump_->pump();
  }
  void pack(Protocol protocol, const std::byte* data, std::size_t bytes) {
    if (protocol == Protocol::kLl)
      packLl(queue_.ll + step_ % kQueueSteps * llSlotBytes_, llFlag(step_), data, bytes);
    else
      packLl128(queue_.ll128 + step_ % kQueueSteps * ll128SlotBytes_, ll128Flag(step_), data, bytes);
    ++step_;
  }
  bool sharesPieces(Protocol protocol) const {
    return protocol == Protocol::kSimple && memory_ != nullptr && pump_ == nullptr;
  }
  void publishShared(const StepNote& note) {
    publish(note);
    sharedUpTo_ = step_;
  }
  bool shareSimple(const std::byte* data, std::size_t bytes);

  std::uint64_t step_;      // the next one
  std::uint64_t limit_;     // steps below it have room, as far as we have looked
  std::uint64_t clearAt_;   // the step before which LL words have to be cleared
  std::uint64_t seenHead_;  // the reader's counter as last seen
  std::uint64_t sharedUpTo_ = 0;
  std::uint64_t label_ = 0;
  QueueMemory queue_;
  std::size_t llSlotBytes_;
  std::size_t ll128SlotBytes_;
  std::size_t largestStep_;
  int peer_;
  PeerMemory* memory_;
  Pump* pump_;
  Staging staging_;
};

}  // namespace xylem
