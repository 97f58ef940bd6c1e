#include "runtime/transport/queue/queue.h"

#include <algorithm>
#include <bit>
#include <new>

#include "runtime/transport/queue/low_latency.h"

namespace xylem::transport {
namespace {

constexpr std::size_t kPage = 4096;
// Sizes and offsets of slots are multiples of this, so that no two slots share a pair of cache lines.
constexpr std::size_t kGranularity = 128;

// Eight slots of 128 KiB fill a second-level cache of 1 MiB.
constexpr std::size_t kMaxSimpleBytes = 128 << 10;
// Over a veth pair, steps of 256 KiB reach 15 % more bandwidth than steps of 128 KiB.
constexpr std::size_t kMaxNetSimpleBytes = 256 << 10;
// 32 KiB in words. For larger steps LL is no longer the fastest protocol.
constexpr std::size_t kMaxLlBytes = 16 << 10;
// 32 KiB in lines.
constexpr std::size_t kMaxLl128Bytes = 256 * kLl128PayloadBytes;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "counters are shared between processes");
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "words are shared between processes");

constexpr std::size_t roundUp(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// Where the slots of each protocol start, in bytes from the start of the queue.
struct Offsets {
  std::size_t simple, ll, ll128, end;
};
std::size_t bytesOfSlot(const StepBytes& step, Slots slots) {
  const std::size_t payload = step[Protocol::kSimple];
  return slots == Slots::kWide ? 2 * std::bit_ceil(payload) : payload;
}
Offsets offsetsOf(const StepBytes& step, Slots slots) {
  Offsets at{};
  at.simple = controlBytes();
  at.ll = roundUp(at.simple + kQueueSteps * bytesOfSlot(step, slots), kGranularity);
  at.ll128 = roundUp(at.ll + kQueueSteps * llSlotBytes(step), kGranularity);
  at.end = roundUp(at.ll128 + kQueueSteps * ll128SlotBytes(step), kPage);
  return at;
}

StepBytes stepBytes(std::size_t bufferBytes, std::size_t maxSimple) {
  StepBytes step{};
  // Over a network all protocols use the Simple slots, so no protocol may have larger steps than Simple.
  const std::size_t simple =
      std::clamp(roundUp(bufferBytes / kQueueSteps, kGranularity), kGranularity, maxSimple);
  step[Protocol::kSimple] = simple;
  step[Protocol::kLl] = std::min(simple, kMaxLlBytes);
  step[Protocol::kLl128] = std::min(simple / kLl128PayloadBytes * kLl128PayloadBytes, kMaxLl128Bytes);
  return step;
}

}  // namespace

StepBytes stepBytesFor(std::size_t bufferBytes) { return stepBytes(bufferBytes, kMaxSimpleBytes); }
StepBytes netStepBytesFor(std::size_t bufferBytes) { return stepBytes(bufferBytes, kMaxNetSimpleBytes); }
std::size_t bufferBytesWithin(std::size_t stepBytes) {
  return stepBytes / kGranularity * kGranularity * kQueueSteps;
}

std::size_t llSlotBytes(const StepBytes& step) { return llWords(step[Protocol::kLl]) * kLlWordBytes; }

std::size_t ll128SlotBytes(const StepBytes& step) {
  return ll128Lines(step[Protocol::kLl128]) * kLl128LineBytes;
}

std::size_t queueBytes(const StepBytes& stepBytes, Slots slots) { return offsetsOf(stepBytes, slots).end; }
std::size_t controlBytes() { return roundUp(sizeof(QueueControl), kPage); }
std::size_t slotBytes(const StepBytes& stepBytes) { return kQueueSteps * stepBytes[Protocol::kSimple]; }

QueueMemory queueIn(std::byte* memory, const StepBytes& stepBytes, Slots slots) {
  const Offsets at = offsetsOf(stepBytes, slots);
  QueueMemory queue;
  queue.control = std::launder(reinterpret_cast<QueueControl*>(memory));
  queue.bytes = at.end;
  queue.simple = memory + at.simple;
  queue.ll = memory + at.ll;
  queue.ll128 = memory + at.ll128;
  queue.stepBytes = stepBytes;
  queue.slotBytes = bytesOfSlot(stepBytes, slots);
  return queue;
}

QueueMemory queueApart(std::byte* control, std::byte* slots, const StepBytes& stepBytes) {
  QueueMemory queue;
  queue.control = std::launder(reinterpret_cast<QueueControl*>(control));
  queue.bytes = controlBytes();
  queue.simple = slots;
  queue.stepBytes = stepBytes;
  queue.slotBytes = bytesOfSlot(stepBytes, Slots::kNarrow);
  return queue;
}

void clearLl(const QueueMemory& queue, std::uint64_t step) {
  const std::size_t words = llSlotBytes(queue.stepBytes) / kLlWordBytes;
  const std::byte* const slot = queue.ll + step % kQueueSteps * words * kLlWordBytes;
  for (std::size_t i = 0; i < words; ++i) llWord(slot, i).store(llCleared(step), std::memory_order_relaxed);
}

void startAt(const QueueMemory& queue, std::uint64_t step) {
  const std::uint64_t epochStart = step / kLlEpoch * kLlEpoch;
  for (std::uint64_t i = 0; i < kQueueSteps; ++i) clearLl(queue, epochStart + i);
  queue.control->tail.store(step, std::memory_order_relaxed);
  queue.control->head.store(step, std::memory_order_relaxed);
}

}  // namespace xylem::transport
