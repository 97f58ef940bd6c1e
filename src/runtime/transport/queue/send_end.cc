#include "runtime/transport/queue/send_end.h"

#include <bit>
#include <functional>

#include "core/address_space.h"
#include "runtime/transport/queue/copy_claims.h"

namespace xylem::transport {
namespace {

class Writing {
 public:
  explicit Writing(std::atomic<std::uint32_t>& writing) : writing_(writing) {
    writing_.store(1, std::memory_order_seq_cst);
  }
  ~Writing() { writing_.store(0, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  std::atomic<std::uint32_t>& writing_;
};

}  // namespace

SendEnd::SendEnd(int peer, const QueueMemory& queue, PeerMemory* memory, Pump* pump)
    : step_(queue.control->head.load(std::memory_order_acquire)),
      limit_(step_),
      clearAt_(llClearsAt(step_)),
      seenHead_(step_),
      queue_(queue),
      llSlotBytes_(llSlotBytes(queue.stepBytes)),
      ll128SlotBytes_(ll128SlotBytes(queue.stepBytes)),
      largestStep_(std::max(queue.stepBytes[Protocol::kLl], queue.stepBytes[Protocol::kLl128])),
      peer_(peer),
      memory_(memory),
      pump_(pump) {}

// The memory of all slots comes at once, before the first of them is used: a few messages then do not seem to take twice as long as the
// later ones, which matters where these times decide how data moves (TwoWays).
std::size_t SendEnd::nextPlace(std::size_t bytes) {
  if (!isPopulated_) populate(queue_.simple, kQueueSteps * queue_.slotBytes);
  isPopulated_ = true;
  const std::size_t span = std::bit_ceil(bytes), places = queue_.slotBytes / span;
  return step_ / kQueueSteps % places * span;
}

void SendEnd::refresh() {
  seenHead_ = queue_.control->head.load(std::memory_order_acquire);
  // Each slot's first step of an epoch of LL flags (low_latency.h) needs cleared words.
  if (step_ == clearAt_ && step_ < seenHead_ + kQueueSteps) {
    clearLl(queue_, step_);
    clearAt_ = llClearsAt(step_ + 1);
  }
  limit_ = std::min(seenHead_ + kQueueSteps, clearAt_);
}

bool SendEnd::findSpace() {
  refresh();
  if (step_ < limit_ || pump_ == nullptr) return step_ < limit_;
  pump_->pump();
  refresh();
  if (step_ < limit_) return true;
  pump_->check();
  return false;
}

bool SendEnd::findDrained() {
  refresh();
  if (seenHead_ >= sharedUpTo_ || pump_ == nullptr) return seenHead_ >= sharedUpTo_;
  pump_->pump();
  refresh();
  if (seenHead_ >= sharedUpTo_) return true;
  pump_->check();
  return false;
}

void SendEnd::pushOn() {
  refresh();
  if (seenHead_ < step_) pump_->pump();
}

bool SendEnd::shareSimple(const std::byte* data, std::size_t bytes) {
  if (!hasSpace()) return false;
  StepNote note;
  note.bytes = static_cast<std::uint32_t>(bytes);
  if (!memory_->locate(data, bytes, memory_->reads(bytes), note)) return send(Protocol::kSimple, data, bytes);
  publishShared(note, data);
  return true;
}

std::size_t SendEnd::sendSimplePiece(const std::byte* data, std::size_t left, std::size_t whole,
                                     std::size_t step, bool helps) {
  if (sharesPieces() && whole >= kLeastHandedOver) {
    if (left == whole) {
      const std::uint32_t told = queue_.control->told.load(std::memory_order_relaxed);
      messageIsRead_ = memory_->readsMessage(whole, told);
      handover_ = memory_->handoverTo(told);
    }
    queue_.control->beat.store(++pieces_, std::memory_order_release);
  }
  if (sharesPieces() && left >= kMinSharedBytes) {
    const std::size_t bytes = std::min(left, kMaxPieceBytes);
    StepNote note;
    note.bytes = static_cast<std::uint32_t>(bytes);
    if (memory_->locate(data, bytes, messageIsRead_, note)) {
      queue_.control->helps.store(helps ? 1 : 0, std::memory_order_relaxed);
      publishShared(note, data);
      return bytes;
    }
  }
  if (sharesPieces()) {
    put(Protocol::kSimple, data, step, placeOf(whole), handover_);
  } else {
    [[maybe_unused]] const bool sent = share(Protocol::kSimple, data, step);
    assert(sent);
  }
  return step;
}

// Only the parts of a payload that are claimed while `writing` is set are written: a reader that gives up closes its claims and waits until
// `writing` is 0.
std::size_t SendEnd::help(const CopySharing* sharing) {
  QueueControl& control = *queue_.control;
  CopyClaims claims(control.claims);
  const std::uint64_t step = seenHead_;
  if (step >= sharedUpTo_ || !claims.isOffered(step)) return 0;
  const std::span<const std::byte> payload = shared_[step % kQueueSteps];
  const std::size_t threads = sharing == nullptr ? 1 : sharing->threads();
  const Writing writing(control.writing);
  const CopyClaims::Part part = claims.takeBack(step, payload.size(), threads * kMaxHelpBytes);
  if (part.bytes == 0) return 0;
  BufferPlace place = control.output;
  place.address += part.begin;
  const std::byte* const data = payload.data() + part.begin;
  std::byte* const mapped = memory_->at(place, part.bytes);
  const auto write = [&](std::size_t begin, std::size_t end) {
    if (mapped != nullptr)
      copyPart(mapped + begin, data + begin, end - begin, payload.size(), memory_->streamsFrom());
    else if (!memory_->write(place.address + begin, data + begin, end - begin))
      control.refused.store(1, std::memory_order_relaxed);
  };
  if (sharing == nullptr)
    write(0, part.bytes);
  else
    sharing->share(part.bytes, std::ref(write));
  const std::uint64_t before = control.written.load(std::memory_order_relaxed);
  control.written.store(before + CopyClaims::unitsOf(part.bytes), std::memory_order_release);
  return part.bytes;
}

}  // namespace xylem::transport
