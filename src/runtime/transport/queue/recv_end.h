#pragma once
// The reading end of a queue.
//
//   if (const std::byte* data = end.peek(protocol, bytes)) { combine(out, data, ...); end.release(protocol);
//   } if (!end.take(protocol, out, bytes)) return Progress::kWouldBlock;
//
// `bytes` is what the writer committed: both sides compute it alike. Nothing waits. One thread at a time.

#include <cassert>
#include <cstring>

#include "runtime/transport/queue/ll128_lines.h"
#include "runtime/transport/queue/ll_words.h"
#include "runtime/transport/local/peer_memory.h"
#include "runtime/transport/net/pump.h"
#include "runtime/transport/queue/queue.h"
#include "runtime/transport/queue/staging.h"

namespace xylem {

class RecvEnd {
 public:
  // `memory` gets at what the writer shares, `pump` brings the steps over the network. Both may be null and
  // must outlive the end.
  RecvEnd(int peer, const QueueMemory& queue, PeerMemory* memory = nullptr, Pump* pump = nullptr);

  int peer() const { return peer_; }
  // The next one, and what brings the steps, or null.
  std::uint64_t nextStep() const { return step_; }
  Pump* pump() const { return pump_; }
  const QueueControl& control() const { return *queue_.control; }
  std::size_t stepBytes(Protocol protocol) const { return queue_.stepBytes[protocol]; }

  // The next step's payload in one piece, or null until all of it is there. It stays until release, or until
  // putDown. Throws ncclInvalidUsage if a Simple step brings another number of bytes: the ranks called
  // different operations.
  const std::byte* peek(Protocol protocol, std::size_t bytes) {
    assert(bytes <= stepBytes(protocol));
    if (!inSlots(protocol)) {
      std::byte* out = staging_.get(largestStep_);
      return unpack(protocol, out, bytes) ? out : nullptr;
    }
    if (!hasStep() && (pump_ == nullptr || !pumpStep(nullptr, bytes))) return nullptr;
    const StepNote note = noteOf(bytes);
    return note.region == 0 ? slot() : fetch(note);
  }
  void release(Protocol) {
    putDown();
    unpackedTo_ = nullptr;
    unpacked_ = 0;
    fetched_ = nullptr;
    landing_.landed = 0;
    queue_.control->head.store(++step_, std::memory_order_release);
  }
  // peek, copy to `out` and release; from another address space or the network in one copy. While it returns
  // false, part of the payload may already be in `out`: the step has to be asked for again, with the same
  // `out`.
  bool take(Protocol protocol, std::byte* out, std::size_t bytes) {
    assert(bytes <= stepBytes(protocol));
    if (!inSlots(protocol)) {
      if (!unpack(protocol, out, bytes)) return false;
    } else {
      if (!hasStep() && (pump_ == nullptr || !pumpStep(out, bytes))) return false;
      const StepNote note = noteOf(bytes);
      if (note.region != 0) {
        if (!copy(note, out, bytes)) return false;
      } else if (const std::size_t landed = landing_.landed; landed < bytes) {
        std::memcpy(out + landed, slot() + landed, bytes - landed);
      }
    }
    release(protocol);
    return true;
  }
  // What was peeked at is not looked at any more before it is peeked at again. Needed whenever the thread
  // turns to something else without release: a writer that gives up waits for this.
  void putDown() {
    if (!reading_) return;
    reading_ = false;
    queue_.control->reading.store(0, std::memory_order_release);
  }

  // Of a message with `left` bytes to go, of whatever pieces SendEnd::sendPiece makes: copies the next bytes
  // to `out`. Returns how many, 0 if none is there; of long pieces some at a time, so that whoever has more
  // to do has its turn.
  std::size_t takePiece(Protocol protocol, std::byte* out, std::size_t left);

 private:
  // What is copied at a time.
  static constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;
  bool inSlots(Protocol protocol) const { return protocol == Protocol::kSimple || pump_ != nullptr; }
  const std::byte* slot() const {
    return queue_.simple + step_ % kQueueSteps * queue_.stepBytes[Protocol::kSimple];
  }
  bool hasStep() {
    if (seenTail_ > step_) return true;
    seenTail_ = queue_.control->tail.load(std::memory_order_acquire);
    return seenTail_ > step_;
  }
  // `out`: where the payload shall go, or null.
  bool pumpStep(std::byte* out, std::size_t bytes);
  StepNote noteOf(std::size_t bytes) const {
    const StepNote note = queue_.control->notes[step_ % kQueueSteps];
    if (note.bytes != bytes) throwMismatch(note.bytes, bytes);
    return note;
  }
  [[noreturn]] void throwMismatch(std::size_t sent, std::size_t expected) const;
  // Brings into `out` what is there of the next step; whether that is all.
  bool unpack(Protocol protocol, std::byte* out, std::size_t bytes) {
    if (unpackedTo_ != out) {
      unpackedTo_ = out;
      unpacked_ = 0;
    }
    if (protocol == Protocol::kLl) {
      const std::byte* words = queue_.ll + step_ % kQueueSteps * llSlotBytes_;
      unpacked_ = unpackLl(words, llFlag(step_), out, bytes, unpacked_);
      return unpacked_ == llWords(bytes);
    }
    const std::byte* lines = queue_.ll128 + step_ % kQueueSteps * ll128SlotBytes_;
    unpacked_ = unpackLl128(lines, ll128Flag(step_), out, bytes, unpacked_);
    return unpacked_ == ll128Lines(bytes);
  }
  // What the writer shared: where it can be read, and a copy of it.
  const std::byte* fetch(const StepNote& note);
  bool copy(const StepNote& note, std::byte* out, std::size_t whole);
  // Before looking into the writer's memory. False if the writer has given up: why will be heard.
  bool pickUp();

  std::uint64_t step_;      // the next one
  std::uint64_t seenTail_;  // the writer's counter as last seen
  // Words or lines of the next step that are already in `unpackedTo_`.
  std::size_t unpacked_ = 0;
  std::byte* unpackedTo_ = nullptr;
  const std::byte* fetched_ = nullptr;  // the next step, read from the writer's memory
  Landing landing_;                     // of the next step
  std::size_t taken_ = 0;               // bytes of the next step that takePiece has copied
  QueueMemory queue_;
  std::size_t llSlotBytes_;
  std::size_t ll128SlotBytes_;
  std::size_t largestStep_;
  int peer_;
  PeerMemory* memory_;
  Pump* pump_;
  bool reading_ = false;
  Staging staging_;
};

}  // namespace xylem
