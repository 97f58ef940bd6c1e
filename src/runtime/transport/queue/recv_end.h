#pragma once
// The reading end of a queue (queue.h). Nothing here waits: a call returns null, false or 0 if the step has
// not arrived. `bytes` is the size that the writer sent; both sides compute it from the operation. One
// thread may use an end at a time.
//
//   RecvEnd end(peer, queue);
//   if (!end.take(protocol, out, bytes)) return Progress::kWouldBlock;
//   if (const std::byte* data = end.peek(protocol, bytes)) {      // or read the payload in place
//     combine(out, data, ...);
//     end.release(protocol);
//   }

#include <algorithm>
#include <cassert>
#include <chrono>
#include <optional>

#include "core/copying.h"
#include "core/error.h"
#include "runtime/transport/choices/core_distance.h"
#include "runtime/transport/choices/touched_memory.h"
#include "runtime/transport/local/peer_memory.h"
#include "runtime/transport/queue/copy_claims.h"
#include "runtime/transport/queue/copy_sharing.h"
#include "runtime/transport/queue/low_latency.h"
#include "runtime/transport/queue/pump.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

// A step has another size than its receiver expects: the two ranks do not run the same operation in the same way.
class StepMismatch : public Error {
 public:
  using Error::Error;
};

class RecvEnd {
 public:
  // `memory` reads data that the writer shares, `pump` brings the steps over the network. Each may be null,
  // and must outlive the end.
  RecvEnd(int peer, const QueueMemory& queue, PeerMemory* memory = nullptr, Pump* pump = nullptr);

  int peer() const { return peer_; }
  // The number of the next step to receive.
  std::uint64_t nextStep() const { return step_; }
  Pump* pump() const { return pump_; }
  const QueueControl& control() const { return *queue_.control; }
  const QueueMemory& queue() const { return queue_; }
  std::size_t stepBytes(Protocol protocol) const { return queue_.stepBytes[protocol]; }

  // The next step's payload in one piece; null until all of it has arrived. It stays valid until release()
  // or endRead(). Throws Error (ncclInvalidUsage) if a Simple step has another size: the ranks called
  // different operations.
  const std::byte* peek(Protocol protocol, std::size_t bytes) {
    assert(bytes <= stepBytes(protocol));
    if (!inSlots(protocol)) {
      std::byte* out = staging_.get(largestStep_);
      return unpack(protocol, out, bytes) ? out : nullptr;
    }
    if (!hasStep() && (pump_ == nullptr || !pumpStep(nullptr, bytes))) return nullptr;
    const StepNote note = noteOf(bytes);
    return note.region == 0 ? inSlot(note) : fetch(note);
  }
  void release(Protocol) {
    endRead();
    fetched_ = nullptr;
    buffer_.filled = 0;
    leaveStep();
  }
  // Copies the next step to `out` and releases it; from another address space or the network with one copy.
  // Returns false if not all of it has arrived. Part of the payload may be in `out` then, so the caller must
  // ask for the step again with the same `out`.
  bool take(Protocol protocol, std::byte* out, std::size_t bytes, Handover handover = Handover::kFarCache) {
    assert(bytes <= stepBytes(protocol));
    if (!inSlots(protocol)) return takePacked(protocol, out, bytes);
    if (!hasStep() && (pump_ == nullptr || !pumpStep(out, bytes))) return false;
    const StepNote note = noteOf(bytes);
    if (note.region != 0) {
      if (!copy(note, out, bytes)) return false;
    } else if (const std::size_t filled = buffer_.filled; filled < bytes) {
      copyFromCore(out + filled, inSlot(note) + filled, bytes - filled, handover);
    }
    release(protocol);
    return true;
  }
  // The caller no longer reads what it peeked at, and will peek again before it does. A thread that turns to
  // something else without release() must call this, as a writer that gives up waits for it.
  void endRead() {
    if (!reading_) return;
    reading_ = false;
    queue_.control->reading.store(0, std::memory_order_release);
  }

  // Copies the next bytes of a message, which SendEnd::sendPiece sends and of which `left` bytes are left,
  // to `out`. Returns their number; 0 if there is nothing to copy yet. Copies at most 1 MiB per call and thread, or 4 MiB
  // where the note has an address, so that the calling thread gets to its other work. `sharing`: of what is copied out of the
  // writer's memory; may be null. If the writer helps, it may put a part of a long piece into `out`, even before the calls reach that: the
  // caller leaves `out` alone until all is there. The last call then returns the bytes of that part, too, and 0 until it is there.
  std::size_t takePiece(Protocol protocol, std::byte* out, std::size_t left,
                        const CopySharing* sharing = nullptr) {
    if (inSlots(protocol)) return takePieceInSlots(protocol, out, left, sharing);
    const std::size_t bytes = std::min(left, stepBytes(protocol));
    return takePacked(protocol, out, bytes) ? bytes : 0;
  }
  // Whether received() wants to hear of the next message, of this size, and how long it takes from being asked for until the end.
  PeerMemory::Hears hearsOf(Protocol protocol, std::size_t whole) const {
    if (protocol != Protocol::kSimple || memory_ == nullptr) return PeerMemory::Hears::kNothing;
    return memory_->hearsOf(whole);
  }
  void received(std::size_t whole, std::optional<std::chrono::nanoseconds> time);

  // For a rank that gives up; any thread may call both. After withdraw() the peer begins no further copy into the output of this end. One
  // that has begun goes on as long as beingWritten().
  void withdraw() noexcept { CopyClaims(queue_.control->claims).close(); }
  bool beingWritten() const noexcept { return queue_.control->writing.load(std::memory_order_seq_cst) != 0; }

 private:
  static constexpr std::size_t kMaxCopyBytes = std::size_t{1} << 20;
  // From here on the writer copies a part, if it has time for that.
  static constexpr std::size_t kLeastForBoth = std::size_t{128} << 10;
  // One call of the kernel for 4 MiB takes a tenth less time than four.
  static constexpr std::size_t kMaxReadBytes = std::size_t{4} << 20;

  bool inSlots(Protocol protocol) const { return protocol == Protocol::kSimple || pump_ != nullptr; }
  const std::byte* inSlot(const StepNote& note) const {
    const std::byte* const slot = queue_.simple + step_ % kQueueSteps * queue_.slotBytes;
    if (!queue_.isWide()) return slot;
    if (note.address > queue_.slotBytes - note.bytes) throwOutside(note);
    return slot + note.address;
  }
  void leaveStep() {
    unpackedTo_ = nullptr;
    unpacked_ = 0;
    queue_.control->head.store(++step_, std::memory_order_release);
  }
  bool hasStep() {
    if (seenTail_ > step_) return true;
    seenTail_ = queue_.control->tail.load(std::memory_order_acquire);
    return seenTail_ > step_;
  }
  // Runs the pump for the next step. `out`: where the payload should go, or null. Returns whether the step
  // is complete.
  bool pumpStep(std::byte* out, std::size_t bytes);
  StepNote noteOf(std::size_t bytes) const {
    const StepNote note = queue_.control->notes[step_ % kQueueSteps];
    if (note.bytes != bytes) throwMismatch(note.bytes, bytes);
    return note;
  }
  [[noreturn]] void throwMismatch(std::size_t sent, std::size_t expected) const;
  [[noreturn]] void throwOutside(const StepNote& note) const;
  const std::byte* llSlot(std::uint64_t step) const { return queue_.ll + step % kQueueSteps * llSlotBytes_; }
  // take() of words or lines. Inlined: a call would take longer than little data.
  [[gnu::always_inline]] bool takePacked(Protocol protocol, std::byte* out, std::size_t bytes) {
    if (!unpack(protocol, out, bytes)) {
      hasWaited_ = true;
      return false;
    }
    if (protocol == Protocol::kLl && !hasWaited_) fetchLaterLlSlot(bytes);
    hasWaited_ = false;
    leaveStep();
    return true;
  }
  // Copies the words or lines of the next step that have arrived to `out`. Returns whether the step is
  // complete.
  [[gnu::always_inline]] bool unpack(Protocol protocol, std::byte* out, std::size_t bytes) {
    if (unpackedTo_ != out) {
      unpackedTo_ = out;
      unpacked_ = 0;
    }
    if (protocol == Protocol::kLl) {
      unpacked_ = unpackLl(llSlot(step_), llFlag(step_), out, bytes, unpacked_);
      return unpacked_ == llWords(bytes);
    }
    const std::byte* lines = queue_.ll128 + step_ % kQueueSteps * ll128SlotBytes_;
    unpacked_ = unpackLl128(lines, ll128Flag(step_), out, bytes, unpacked_);
    return unpacked_ == ll128Lines(bytes);
  }
  // A step that was there at the first look: the writer is ahead. So the lines of the step after the next are probably there, too, and come
  // meanwhile. Not those of the next one: the writer may be about to write them, and fetches them for that (SendEnd).
  void fetchLaterLlSlot(std::size_t bytes) const {
    for (std::size_t at = 0; at < fetchedLlBytes(bytes); at += kCacheLine)
      prefetchToRead(llSlot(step_ + 2) + at);
  }
  std::size_t takePieceInSlots(Protocol protocol, std::byte* out, std::size_t left,
                               const CopySharing* sharing);
  // For a step that the writer shared: its payload in place, and a copy of `note.bytes` of it (of a piece of
  // `whole` bytes). Null or false if the writer has given up.
  const std::byte* fetch(const StepNote& note);
  bool copy(const StepNote& note, std::byte* out, std::size_t whole, const CopySharing* sharing = nullptr);
  // For pieces that the writer may help with: the next part for this end, whether the writer has copied its own, and the end of the piece.
  void claim(std::size_t whole, std::byte* out, std::size_t most);
  bool writerIsDone() const;
  void endPiece(Protocol protocol);
  // Must be called before reading the writer's memory. Returns false if the writer has given up; its
  // connection reports why.
  bool beginRead();
  // Ends reading. Returns false if the writer has given up since, so that anything may have been read.
  bool hasRead();

  std::uint64_t step_;      // the next step
  std::uint64_t seenTail_;  // the writer's counter when it was last loaded
  // Number of words or lines of the next step that are already in `unpackedTo_`.
  std::size_t unpacked_ = 0;
  std::byte* unpackedTo_ = nullptr;
  const std::byte* fetched_ = nullptr;  // a copy of the next step, read from the writer's memory
  ReceiveBuffer buffer_;                // for the next step, over a network
  std::size_t taken_ = 0;               // bytes of the next step that takePiece has copied,
  std::size_t claimed_ = 0;             // and of what this end copies
  bool isOffered_ = false;              // the writer may copy some, too
  std::uint64_t written_ = 0;     // units that the writer has written into outputs, but for the next step's
  std::uint32_t lastRegion_ = 0;  // of takePiece's last note
  std::uint32_t told_ = 0;        // as in QueueControl
  BeatProbe beat_;
  QueueMemory queue_;
  TouchedMemory touched_;     // the slots
  bool inNewMemory_ = false;  // a piece of the message was
  std::size_t llSlotBytes_;
  std::size_t ll128SlotBytes_;
  std::size_t largestStep_;
  int peer_;
  PeerMemory* memory_;
  Pump* pump_;
  bool reading_ = false;
  bool hasWaited_ = false;  // for the next step of LL words or LL128 lines
  Staging staging_;
};

}  // namespace xylem::transport
