#pragma once
// The memory of the flight recorder: the last calls of the communicators of a process. It is a memfd, so that
// `xylem status` can read it from outside, even if the process hangs or is stopped. Each process has one
// buffer, or more if it has many communicators. Each communicator has a ring in it, with one record per call.
//
//   RecordRing& ring = takeRecordRing();
//   ...
//   returnRecordRing(ring);
//
// All of it is words of 64 bits, written with relaxed atomics. A reader may find a record half written and
// sees that by its two seals. Any change of the layout needs a new kRecordVersion. Buffers stay until the
// process ends, so that dumps and readers never lose them.
//
// Times are ticks of the processor's counter, which costs a fraction of reading a system clock. A reader
// finds the length of a tick from two readings of both clocks:
//
//   const TickClock clock(start, ClockReading::now());      // `start`: when the buffer was made
//   clock.nanosecondsSince(ticks)

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace xylem::comm {

inline std::uint64_t steadyNanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

inline std::uint64_t readTicks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return steadyNanoseconds();
#endif
}

// The length of a tick until two readings tell it. Arm's processors say how often their counter counts; x86 ones are taken to run
// at 2 GHz.
inline double likelyNanosecondsPerTick() {
#if defined(__aarch64__)
  std::uint64_t perSecond = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(perSecond));
  return perSecond == 0 ? 1 : 1e9 / static_cast<double>(perSecond);
#elif defined(__x86_64__)
  return 0.5;
#else
  return 1;
#endif
}

// Both clocks at one moment.
struct ClockReading {
  std::uint64_t ticks = 0;
  std::uint64_t nanoseconds = 0;

  static ClockReading now() { return {readTicks(), steadyNanoseconds()}; }
};

class TickClock {
 public:
  TickClock(const ClockReading& start, const ClockReading& now) : now_(now) {
    // Readings that are less than ten milliseconds apart are too imprecise.
    if (now.ticks > start.ticks && now.nanoseconds > start.nanoseconds + 10'000'000)
      nanosecondsPerTick_ = static_cast<double>(now.nanoseconds - start.nanoseconds) /
                            static_cast<double>(now.ticks - start.ticks);
  }

  // 0 for moments in the future.
  std::uint64_t nanosecondsSince(std::uint64_t ticks) const {
    if (ticks >= now_.ticks) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(now_.ticks - ticks) * nanosecondsPerTick_);
  }

 private:
  ClockReading now_;
  double nanosecondsPerTick_ = likelyNanosecondsPerTick();
};

// The name of the memfd: /proc/PID/fd/N is a link to `/memfd:xylem flight recorder (deleted)`.
constexpr char kRecordBufferName[] = "xylem flight recorder";
constexpr std::uint64_t kRecordMagic = 0x746867696c667978;  // `xyflight`
constexpr std::uint64_t kRecordVersion = 2;

constexpr std::size_t kRingsPerBuffer = 32;
constexpr std::size_t kRecordsPerRing = 256;  // a power of two
constexpr std::size_t kReasonWords = 64;
constexpr std::size_t kCopiesWords = 112;
constexpr std::size_t kHostNameWords = 8;

constexpr char kSinceThen[] = "; since then: ";

using RecordWord = std::atomic<std::uint64_t>;
inline std::uint64_t get(const RecordWord& word) { return word.load(std::memory_order_relaxed); }
static_assert(sizeof(RecordWord) == 8 && RecordWord::is_always_lock_free);

enum class CallState : std::uint64_t { kIssued, kStarted, kDone, kFailed };

// One call. Two cache lines.
struct RawRecord {
  RecordWord seal;                 // 1 + the number of the call; 0 while the record is written
  std::array<RecordWord, 3> call;  // CallWords
  RecordWord path;                 // algorithm, protocol and channels (packPath); 0: none was chosen
  RecordWord launch;               // the number of its group
  RecordWord ordinal;              // how many collectives there were before; the same on all ranks
  RecordWord send, receive, stream;
  RecordWord issued, started, finished;  // ticks; 0: not yet
  RecordWord state;
  RecordWord spare;
  RecordWord otherSeal;
};
static_assert(sizeof(RawRecord) == 128);

// kCheck: the ranks compare their calls. kJoin: they make the communicator. kReplay: a GPU runs a kernel again that a graph has, which is no
// call, so no record is about it.
enum class WaitKind : std::uint64_t { kNone, kCheck, kData, kJoin, kReplay };

enum class RingUse : std::uint64_t { kFree, kLive, kFailed, kJoining };

struct RecordRing {
  RecordWord use;
  RecordWord communicator;  // the same on all ranks
  RecordWord rank, ranks, device;
  RecordWord made;    // ticks
  RecordWord issued;  // number of calls
  // While the communicator waits: 1 + the rank that it waits for, since when, and when that was noted last.
  RecordWord waitsFor, waitsSince, waitSeen;
  // A WaitKind.
  RecordWord waitKind;
  alignas(128) RawRecord waiting;  // the call that waits, whose record may have left the ring
  // Text: why the communicator failed or, while ranks make it, what the rank waits for.
  std::array<RecordWord, kReasonWords> reason;
  alignas(128) std::array<RawRecord, kRecordsPerRing> records;
  // Text: how data moves within the rank's host (CopyChanges): what was chosen, behind kSinceThen what has changed, and in brackets
  // why it was chosen.
  std::array<RecordWord, kCopiesWords> copies;
};

struct RecordBuffer {
  RecordWord magic, version, bytes;
  RecordWord pid;
  RecordWord startTicks, startNanoseconds;
  std::array<RecordWord, kHostNameWords> host;  // text
  alignas(128) std::array<RecordRing, kRingsPerBuffer> rings;
};

// An empty ring, kLive or kJoining. Throws if there is no memory.
RecordRing& takeRecordRing(RingUse use);
void returnRecordRing(RecordRing& ring) noexcept;

// Calls `look` for every buffer of this process. Safe in signal handlers.
void forEachRecordBuffer(void (*look)(const RecordBuffer& buffer, void* context), void* context);

}  // namespace xylem::comm
