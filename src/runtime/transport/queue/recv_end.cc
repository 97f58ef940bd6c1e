#include "runtime/transport/queue/recv_end.h"

#include <algorithm>
#include <utility>

#include "core/copying.h"
#include "core/error.h"

namespace xylem::transport {

RecvEnd::RecvEnd(int peer, const QueueMemory& queue, PeerMemory* memory, Pump* pump)
    : step_(queue.control->head.load(std::memory_order_relaxed)),
      seenTail_(step_),
      queue_(queue),
      touched_(kQueueSteps * queue.slotBytes),
      llSlotBytes_(llSlotBytes(queue.stepBytes)),
      ll128SlotBytes_(ll128SlotBytes(queue.stepBytes)),
      largestStep_(std::max({queue.stepBytes[Protocol::kSimple], queue.stepBytes[Protocol::kLl],
                             queue.stepBytes[Protocol::kLl128]})),
      peer_(peer),
      memory_(memory),
      pump_(pump) {}

bool RecvEnd::pumpStep(std::byte* out, std::size_t bytes) {
  assert(buffer_.filled == 0 || buffer_.data == out);
  buffer_.data = out;
  buffer_.bytes = bytes;
  pump_->pumpFor(step_, buffer_);
  seenTail_ = queue_.control->tail.load(std::memory_order_acquire);
  if (seenTail_ > step_) return true;
  pump_->check();
  return false;
}

void RecvEnd::throwMismatch(std::size_t sent, std::size_t expected) const {
  throw StepMismatch(
      ResultCode::kInvalidUsage,
      "rank {} sent {} bytes where this rank expects {}: do all ranks call the same operations, in "
      "the same order, with the same counts and data types?",
      peer_, sent, expected);
}

void RecvEnd::throwOutside(const StepNote& note) const {
  throw Error(ResultCode::kRemoteError, "rank {} sent {} bytes at offset {} of a slot of {} bytes", peer_,
              note.bytes, note.address, queue_.slotBytes);
}

bool RecvEnd::beginRead() {
  if (memory_ == nullptr)
    throw Error(ResultCode::kInternalError, "rank {} shares memory over a queue without", peer_);
  if (reading_) return true;
  queue_.control->reading.store(1, std::memory_order_seq_cst);
  reading_ = true;
  if (queue_.control->withdrawn.load(std::memory_order_seq_cst) == 0) return true;
  endRead();
  return false;
}

// A writer that gives up waits for its readers, but not for ever.
bool RecvEnd::hasRead() {
  endRead();
  return queue_.control->withdrawn.load(std::memory_order_acquire) == 0;
}

const std::byte* RecvEnd::fetch(const StepNote& note) {
  if (fetched_ != nullptr) return fetched_;  // an earlier peek at the same step
  if (!beginRead()) return nullptr;
  if (const std::byte* data = memory_->reach(note)) return data;
  std::byte* const out = staging_.get(largestStep_);
  memory_->read(note, out);
  if (!hasRead()) return nullptr;
  return fetched_ = out;
}

bool RecvEnd::copy(const StepNote& note, std::byte* out, std::size_t whole, const CopySharing* sharing) {
  if (note.bytes == 0) return true;  // `out` may be null
  if (!beginRead()) return false;
  const std::byte* const data = memory_->reach(note);
  const auto copyStretch = [&](std::size_t begin, std::size_t end) {
    if (data != nullptr)
      return copyPart(out + begin, data + begin, end - begin, whole, memory_->streamsFrom());
    StepNote part = note;
    part.bytes = static_cast<std::uint32_t>(end - begin);
    part.address += begin;
    memory_->read(part, out + begin);
  };
  if (sharing == nullptr)
    copyStretch(0, note.bytes);
  else
    sharing->share(note.bytes, std::ref(copyStretch));  // a reference needs no allocation
  return hasRead();
}

void RecvEnd::received(std::size_t whole, std::optional<std::chrono::nanoseconds> time) {
  if (lastRegion_ > StepNote::kAddress) return;  // mapped
  std::optional<std::chrono::nanoseconds> line;
  // After much data the line may have left the caches. Staged data comes in steps, with a line for each.
  const bool mayHaveLeft = lastRegion_ != 0 && whole > kMaxCopyBytes;
  if (!mayHaveLeft && beat_.isDue(whole)) line = beat_.load(queue_.control->beat);
  if (std::exchange(inNewMemory_, false)) time.reset();
  const std::uint32_t tells = memory_->received(whole, lastRegion_ == StepNote::kAddress, time, line);
  if (tells == told_) return;
  told_ = tells;
  queue_.control->told.store(tells, std::memory_order_relaxed);
}

std::size_t RecvEnd::takePieceInSlots(Protocol protocol, std::byte* out, std::size_t left,
                                      const CopySharing* sharing) {
  // Where this rank can read the writer's memory, the piece that the note describes decides; elsewhere the
  // message comes in steps of the size that both sides know.
  const bool reaches = protocol == Protocol::kSimple && memory_ != nullptr && pump_ == nullptr;
  if (reaches && !hasStep()) return 0;
  const StepNote* note = reaches ? &queue_.control->notes[step_ % kQueueSteps] : nullptr;
  lastRegion_ = note == nullptr ? 0 : note->region;
  if (lastRegion_ == 0) {
    const std::size_t bytes = std::min(left, stepBytes(protocol));
    const Handover handover = reaches ? memory_->handoverFrom() : Handover::kFarCache;
    const std::size_t place = reaches && queue_.isWide() ? note->address : 0;
    const std::size_t at = step_ % kQueueSteps * queue_.slotBytes + place;
    if (!take(protocol, out, bytes, handover)) return 0;
    if (reaches && touched_.touch(at, bytes)) inNewMemory_ = true;
    return bytes;
  }
  const std::size_t whole = note->bytes;
  if (const std::size_t expected = std::min(left + taken_, kMaxPieceBytes); whole != expected)
    throwMismatch(whole, expected);
  const std::size_t most = (lastRegion_ == StepNote::kAddress ? kMaxReadBytes : kMaxCopyBytes) *
                           (sharing == nullptr ? 1 : sharing->threads());
  if (taken_ == claimed_) claim(whole, out, most);
  if (isOffered_ && taken_ == claimed_) {
    if (!writerIsDone()) return 0;
    if (queue_.control->refused.load(std::memory_order_relaxed) == 0) {
      const std::size_t rest = whole - taken_;
      endPiece(protocol);
      return rest;
    }
    claimed_ = whole;
  }
  const std::size_t bytes = std::min(claimed_ - taken_, most);
  StepNote part = *note;
  part.bytes = static_cast<std::uint32_t>(bytes);
  part.address += taken_;
  if (!copy(part, out, whole, sharing)) return 0;
  taken_ += bytes;
  if (taken_ == whole) endPiece(protocol);
  return bytes;
}

// Claims the next part of a payload of `whole` bytes. All of it, if the writer cannot copy any.
void RecvEnd::claim(std::size_t whole, std::byte* out, std::size_t most) {
  QueueControl& control = *queue_.control;
  CopyClaims claims(control.claims);
  if (isOffered_) {
    claimed_ = std::min(whole, claimed_ + claims.takeFront(whole, most).bytes);
    return;
  }
  claimed_ = whole;
  if (whole < kLeastForBoth || control.helps.load(std::memory_order_relaxed) == 0) return;
  if (!memory_->offer(out, whole, lastRegion_ == StepNote::kAddress, control.output)) return;
  const auto first = claims.offer(step_, whole, most);
  if (!first) return;
  claimed_ = first->bytes;
  isOffered_ = true;
}

// Whether the writer has copied what it has claimed.
bool RecvEnd::writerIsDone() const {
  const QueueControl& control = *queue_.control;
  const std::uint64_t claimed = CopyClaims(queue_.control->claims).writersUnits();
  return control.written.load(std::memory_order_acquire) == written_ + claimed;
}

void RecvEnd::endPiece(Protocol protocol) {
  if (std::exchange(isOffered_, false)) {
    written_ = queue_.control->written.load(std::memory_order_relaxed);
    if (queue_.control->refused.load(std::memory_order_relaxed) != 0)
      queue_.control->refused.store(0, std::memory_order_relaxed);
    CopyClaims(queue_.control->claims).end();
  }
  taken_ = claimed_ = 0;
  release(protocol);
}

}  // namespace xylem::transport
