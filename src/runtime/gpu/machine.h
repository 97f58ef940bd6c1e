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

// The barriers of a block. kAll is for all threads; the others have two forms, which alternate from slice to slice.
enum class Barrier : int { kAll = 0, kReady = 1, kMoved = 3, kFree = 5 };
constexpr int kBarriers = 7;

// The barrier of the slices with this parity.
constexpr int barrierOf(Barrier barrier, unsigned parity = 0) {
  return static_cast<int>(barrier) + static_cast<int>(parity);
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
  m.pause();  // a thread waits for something outside of its block

  // Counters and flags that hosts and other GPUs access at the same time.
  { m.loadAcquire(counter) } -> std::convertible_to<std::uint64_t>;
  m.storeRelease(ownCounter, word);
  { m.loadRelaxed(flag) } -> std::convertible_to<std::uint32_t>;
  m.storeRelaxed(flag, std::uint32_t{});

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
