#pragma once
// The processor, as the kernel uses it. The kernel (kernel.h) is written against a type M with these members;
// there are two of them: a GPU (cuda_machine.h), and the tests' CPU, where the threads of a block are fibers
// (tests/runtime/gpu/cpu_machine.h).
//
// A warp is kLanes threads. All of its threads must call shuffles, votes, syncWarp, loadLine and storeLine together.

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace xylem::gpu {

// 16 bytes, accessed at once.
struct Pack {
  std::uint64_t words[2];
};

// Slices of a block that are under way at the same time: waited for, moved or posted. Waiting and posting take a microsecond each, as
// long as a step of 32 KiB takes to be moved.
constexpr unsigned kSlices = 4;

// The barriers of a block. kAll is for all threads; the others have a form for each slice that is under way.
enum class Barrier : int { kAll = 0, kReady = 1, kMoved = kReady + kSlices, kFree = kMoved + kSlices };
constexpr int kBarriers = static_cast<int>(Barrier::kFree) + static_cast<int>(kSlices);
static_assert(kBarriers <= 16, "NVIDIA's GPUs have 16 barriers for each block");

// The barrier of the slices at this place.
constexpr int barrierOf(Barrier barrier, unsigned place = 0) {
  return static_cast<int>(barrier) + static_cast<int>(place);
}

template <typename M>
concept Machine = requires(M& m, const std::byte* from, std::byte* to, std::uint64_t word,
                           std::uint64_t* words, const std::uint64_t* counter, std::uint64_t* ownCounter,
                           std::uint32_t* flag, Pack pack) {
  { M::kLanes } -> std::convertible_to<int>;  // a multiple of 8
  {
    M::kSpinsPerLook
    } -> std::convertible_to<int>;  // a thread that waits looks at the abort word this seldom
  { M::kSpinsPerReport } -> std::convertible_to<int>;  // and then says for whom it waits
  { m.thread() } -> std::convertible_to<int>;          // of the block
  { m.threads() } -> std::convertible_to<int>;

  // Named barriers: a phase of one is over when `int` threads have arrived. sync() also waits for that, and then
  // sees everything that all of them wrote before.
  m.arrive(int{}, int{});
  m.sync(int{}, int{});
  m.syncWarp();  // the same for the threads of a warp
  { m.all(bool{}) } -> std::convertible_to<bool>;
  { m.any(bool{}) } -> std::convertible_to<bool>;
  m.pause();                                            // a thread waits for something outside of its block
  { m.clock() } -> std::convertible_to<std::uint64_t>;  // nanoseconds, the same for all blocks

  // Counters and flags that hosts and other GPUs access at the same time.
  { m.loadAcquire(counter) } -> std::convertible_to<std::uint64_t>;
  m.storeRelease(ownCounter, word);
  m.count(flag);  // adds one, as with storeRelease
  // Many stores after one fence, which costs as much as each of them with release.
  m.releaseFence();
  m.storeFenced(ownCounter, word);
  m.storeFenced(flag, std::uint32_t{});
  { m.loadRelaxed(flag) } -> std::convertible_to<std::uint32_t>;
  { m.loadRelaxed(counter) } -> std::convertible_to<std::uint64_t>;
  m.storeRelaxed(flag, std::uint32_t{});
  m.storeRelaxed(ownCounter, word);

  // Data, ordered by barriers and counters. Addresses are multiples of the size.
  { m.template load<std::uint8_t>(from) } -> std::convertible_to<std::uint8_t>;
  m.template store<std::uint64_t>(to, word);
  { m.loadPack(from) } -> std::convertible_to<Pack>;
  m.storePack(to, pack);

  // Words of LL: one, or two that need not arrive together, at an address that is a multiple of 16.
  { m.loadWord(from) } -> std::convertible_to<std::uint64_t>;
  { m.loadWords(from) } -> std::convertible_to<Pack>;
  m.storeWord(to, word);
  m.storeWords(to, pack);

  // Lines of LL128: eight threads in a row have 16 bytes each; the last 8 of the last thread are the flag. Each passes the
  // address of its bytes, or null if it only takes part in the call. loadLine returns whether the thread's line has arrived
  // (true for null), and if so its bytes; storeLine stores the flag after, or together with, the rest of the line.
  { m.loadLine(from, word, pack) } -> std::convertible_to<bool>;
  m.storeLine(to, word, pack);
};

}  // namespace xylem::gpu
