#pragma once
// A queue of slots in shared memory with one writer and one reader, lock-free: NCCL's SIMPLE protocol. The
// writer fills a slot and raises `tail`, the reader uses the slot and raises `head`; each counter has its
// cache lines to itself and counts slots ever passed, so tail - head slots are full.
//
//   if (writer.ready()) { std::memcpy(writer.slot(), data, bytes); writer.push(); }   // one rank
//   if (reader.ready()) { use(reader.slot()); reader.pop(); }                         // the other
//
// Both ends remember the other's counter as last seen, so that the line travels only when it has to.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace xylem {

// Slots of a queue (NCCL_STEPS).
constexpr std::uint64_t kFifoSlots = 8;
// Two cache lines: processors fetch them in pairs.
constexpr std::size_t kCounterBytes = 128;

struct FifoControl {
  alignas(kCounterBytes) std::atomic<std::uint64_t> tail;  // raised by the writer
  alignas(kCounterBytes) std::atomic<std::uint64_t> head;  // raised by the reader
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "counters are shared between processes");
static_assert(sizeof(FifoControl) == 2 * kCounterBytes);

// Where one queue lies in memory. Slot i starts at slots + i * slotBytes.
struct FifoMemory {
  FifoControl* control = nullptr;
  std::byte* slots = nullptr;
  std::size_t slotBytes = 0;
};

class FifoWriter {
 public:
  FifoWriter() = default;
  explicit FifoWriter(const FifoMemory& memory)
      : memory_(memory), tail_(memory.control->tail.load(std::memory_order_relaxed)) {}

  std::size_t slotBytes() const { return memory_.slotBytes; }
  bool ready() {
    if (tail_ - seenHead_ < kFifoSlots) return true;
    seenHead_ = memory_.control->head.load(std::memory_order_acquire);
    return tail_ - seenHead_ < kFifoSlots;
  }
  std::byte* slot() const { return memory_.slots + tail_ % kFifoSlots * memory_.slotBytes; }
  void push() { memory_.control->tail.store(++tail_, std::memory_order_release); }

 private:
  FifoMemory memory_;
  std::uint64_t tail_ = 0;
  std::uint64_t seenHead_ = 0;
};

class FifoReader {
 public:
  FifoReader() = default;
  explicit FifoReader(const FifoMemory& memory)
      : memory_(memory), head_(memory.control->head.load(std::memory_order_relaxed)), seenTail_(head_) {}

  std::size_t slotBytes() const { return memory_.slotBytes; }
  bool ready() {
    if (seenTail_ != head_) return true;
    seenTail_ = memory_.control->tail.load(std::memory_order_acquire);
    return seenTail_ != head_;
  }
  const std::byte* slot() const { return memory_.slots + head_ % kFifoSlots * memory_.slotBytes; }
  void pop() { memory_.control->head.store(++head_, std::memory_order_release); }

 private:
  FifoMemory memory_;
  std::uint64_t head_ = 0;
  std::uint64_t seenTail_ = 0;
};

}  // namespace xylem
