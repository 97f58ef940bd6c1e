#pragma once
// The kernel's machine (gpu/machine.h) on the CPU: the threads of a block are fibers.
//
//   CpuMachine machine(block, thread);
//   gpu::runBlock(machine, shared, work);

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "runtime/gpu/fiber_block.h"
#include "runtime/gpu/machine.h"

namespace xylem::testing {

class CpuMachine {
 public:
  static constexpr int kLanes = FiberBlock::kLanes;
  static constexpr int kSpinsPerLook = 2;
  static constexpr int kSpinsPerReport = 200;

  // `turns` is counted down whenever a thread waits, for tests that abort a job in its middle; may be null.
  CpuMachine(FiberBlock& block, int thread, std::atomic<long>* turns)
      : block_(block), thread_(thread), turns_(turns) {}

  int thread() const { return thread_; }
  int threads() const { return block_.threads(); }

  void arrive(int barrier, int threads) { block_.arrive(thread_, barrier, threads); }
  void sync(int barrier, int threads) {
    if (turns_ != nullptr) turns_->fetch_sub(1, std::memory_order_relaxed);
    block_.sync(thread_, barrier, threads);
  }
  void syncWarp() { block_.syncWarp(thread_); }
  bool all(bool mine) { return count(mine) == kLanes; }
  bool any(bool mine) { return count(mine) > 0; }
  void pause() {
    if (turns_ != nullptr) turns_->fetch_sub(1, std::memory_order_relaxed);
    block_.pause(thread_);
  }
  std::uint64_t clock() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
  }

  std::uint64_t loadAcquire(const std::uint64_t* from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
  void storeRelease(std::uint64_t* to, std::uint64_t value) { __atomic_store_n(to, value, __ATOMIC_RELEASE); }
  void count(std::uint32_t* counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE); }
  // The thread sanitizer knows no fences.
  void releaseFence() {}
  template <typename T>
  void storeFenced(T* to, T value) {
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
  }
  template <typename T>
  T loadRelaxed(const T* from) {
    return __atomic_load_n(from, __ATOMIC_RELAXED);
  }
  template <typename T>
  void storeRelaxed(T* to, std::type_identity_t<T> value) {
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
  }

  template <typename T>
  T load(const std::byte* from) {
    requireAligned(from, sizeof(T));
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  template <typename T>
  void store(std::byte* to, T value) {
    requireAligned(to, sizeof(T));
    std::memcpy(to, &value, sizeof value);
  }
  gpu::Pack loadPack(const std::byte* from) {
    requireAligned(from, sizeof(gpu::Pack));
    gpu::Pack pack;
    std::memcpy(&pack, from, sizeof pack);
    return pack;
  }
  void storePack(std::byte* to, const gpu::Pack& pack) {
    requireAligned(to, sizeof(gpu::Pack));
    std::memcpy(to, &pack, sizeof pack);
  }

  // Words need no order among each other, but the block of a tree that writes results over its input may only do so because
  // the one that sent the input has read it: each word depends on what was read for it. A GPU keeps that order (no value
  // comes from nowhere); C++ has it only as acquire and release.
  std::uint64_t loadWord(const std::byte* from) {
    requireAligned(from, 8);
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from), __ATOMIC_ACQUIRE);
  }
  gpu::Pack loadWords(const std::byte* from) {
    requireAligned(from, 16);
    return {{loadWord(from), loadWord(from + 8)}};
  }
  void storeWord(std::byte* to, std::uint64_t word) {
    requireAligned(to, 8);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), word, __ATOMIC_RELEASE);
  }
  void storeWords(std::byte* to, const gpu::Pack& words) {
    requireAligned(to, 16);
    // The second one first: words need no order.
    storeWord(to + 8, words.words[1]);
    storeWord(to, words.words[0]);
  }

  // The last thread of the line loads the flag; only if it has arrived the others load their bytes.
  bool loadLine(const std::byte* from, std::uint64_t flag, gpu::Pack& bytes) {
    const bool isLast = thread_ % kLanes == kLanes - 1;
    const bool arrived =
        from == nullptr || !isLast ||
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from + 8), __ATOMIC_ACQUIRE) == flag;
    const std::uint64_t* const all = block_.exchange(thread_, arrived ? 1 : 0);
    const bool lineArrived = all[kLanes - 1] != 0;
    block_.syncWarp(thread_);  // the last thread has acquired the line
    if (from == nullptr) return true;
    if (!lineArrived) return false;
    bytes.words[0] = load<std::uint64_t>(from);
    bytes.words[1] = isLast ? flag : load<std::uint64_t>(from + 8);
    return true;
  }
  void storeLine(std::byte* to, std::uint64_t flag, const gpu::Pack& bytes) {
    const bool isLast = thread_ % kLanes == kLanes - 1;
    if (to != nullptr) store(to, bytes.words[0]);
    if (to != nullptr && !isLast) store(to + 8, bytes.words[1]);
    block_.syncWarp(thread_);
    if (to != nullptr && isLast)
      __atomic_store_n(reinterpret_cast<std::uint64_t*>(to + 8), flag, __ATOMIC_RELEASE);
  }

 private:
  static_assert(kLanes == 8, "a warp has one line of LL128");

  int count(bool mine) {
    const std::uint64_t* const all = block_.exchange(thread_, mine ? 1 : 0);
    int n = 0;
    for (int i = 0; i < kLanes; ++i) n += static_cast<int>(all[i]);
    return n;
  }
  // A GPU faults where this CPU would not.
  static void requireAligned(const void* address, std::size_t to) {
    if (reinterpret_cast<std::uintptr_t>(address) % to == 0) return;
    std::fprintf(stderr, "an access of %zu bytes at %p\n", to, address);
    std::abort();
  }

  FiberBlock& block_;
  int thread_;
  std::atomic<long>* turns_;
};

static_assert(gpu::Machine<CpuMachine>);

}  // namespace xylem::testing
