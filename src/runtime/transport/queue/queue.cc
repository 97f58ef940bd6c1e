#include "runtime/transport/queue/queue.h"

#include <algorithm>
#include <new>

#include "runtime/transport/queue/ll128_lines.h"
#include "runtime/transport/queue/ll_words.h"

namespace xylem {
namespace {

constexpr std::size_t kPage = 4096;
// Sizes and places of slots are multiples of this, so that no two share a pair of cache lines.
constexpr std::size_t kGranularity = 128;

// Eight slots of 128 KiB fill a core's second-level cache of 1 MiB.
constexpr std::size_t kMostSimple = 128 << 10;
// Over veth, 256 KiB carry 15 % more than 128 KiB.
constexpr std::size_t kMostNetSimple = 256 << 10;
// Twice the size in words. Beyond this LL is no longer the fastest protocol.
constexpr std::size_t kMostLl = 16 << 10;
// 32 KiB in lines.
constexpr std::size_t kMostLl128 = 256 * kLl128PayloadBytes;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "counters are shared between processes");
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "words are shared between processes");

constexpr std::size_t roundUp(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// Of the slots of each protocol from the start of the queue.
struct Offsets {
  std::size_t simple, ll, ll128, end;
};
Offsets offsetsOf(const StepBytes& step) {
  Offsets at{};
  at.simple = roundUp(sizeof(QueueControl), kPage);
  at.ll = roundUp(at.simple + kQueueSteps * step[Protocol::kSimple], kGranularity);
  at.ll128 = roundUp(at.ll + kQueueSteps * llSlotBytes(step), kGranularity);
  at.end = roundUp(at.ll128 + kQueueSteps * ll128SlotBytes(step), kPage);
  return at;
}

StepBytes stepBytes(std::size_t bufferBytes, std::size_t mostSimple) {
  StepBytes step{};
  // Over the network all protocols use the Simple slots, so none may be larger.
  const std::size_t simple =
      std::clamp(roundUp(bufferBytes / kQueueSteps, kGranularity), kGranularity, mostSimple);
  step[Protocol::kSimple] = simple;
  step[Protocol::kLl] = std::min(simple, kMostLl);
  step[Protocol::kLl128] = std::min(simple / kLl128PayloadBytes * kLl128PayloadBytes, kMostLl128);
  return step;
}

}  // namespace

StepBytes stepBytesFor(std::size_t bufferBytes) { return stepBytes(bufferBytes, kMostSimple); }
StepBytes netStepBytesFor(std::size_t bufferBytes) { return stepBytes(bufferBytes, kMostNetSimple); }

std::size_t llSlotBytes(const StepBytes& step) { return llWords(step[Protocol::kLl]) * kLlWordBytes; }

std::size_t ll128SlotBytes(const StepBytes& step) {
  return ll128Lines(step[Protocol::kLl128]) * kLl128LineBytes;
}

std::size_t queueBytes(const StepBytes& stepBytes) { return offsetsOf(stepBytes).end; }

QueueMemory queueIn(std::byte* memory, const StepBytes& stepBytes) {
  const Offsets at = offsetsOf(stepBytes);
  QueueMemory queue;
  queue.control = std::launder(reinterpret_cast<QueueControl*>(memory));
  queue.simple = memory + at.simple;
  queue.ll = memory + at.ll;
  queue.ll128 = memory + at.ll128;
  queue.stepBytes = stepBytes;
  return queue;
}

void clearLl(const QueueMemory& queue, std::uint64_t epochStart) {
  const std::size_t words = kQueueSteps * llSlotBytes(queue.stepBytes) / kLlWordBytes;
  for (std::size_t i = 0; i < words; ++i)
    llWord(queue.ll, i).store(llCleared(epochStart), std::memory_order_relaxed);
}

void startAt(const QueueMemory& queue, std::uint64_t step) {
  clearLl(queue, step / kLlEpoch * kLlEpoch);
  queue.control->tail.store(step, std::memory_order_relaxed);
  queue.control->head.store(step, std::memory_order_relaxed);
}

}  // namespace xylem
