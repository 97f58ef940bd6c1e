#pragma once
// The memory of flight recorders: what the communicators of a process did last. It is a memfd, so that
// `xylem status` can read it from outside, also while the process is stuck or stopped. Each process has one
// area, or more if it has many communicators; each communicator has a slot there, with a ring of entries, one
// per call.
//
// All of it is words of 64 bits, written with relaxed atomics: a reader may find an entry half written and
// knows by its two seals. A change of anything here needs a new kFlightVersion.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace xylem {

// The name of the memfd: /proc/PID/fd/N is a link to `/memfd:xylem flight recorder (deleted)`.
constexpr char kFlightName[] = "xylem flight recorder";
constexpr std::uint64_t kFlightMagic = 0x746867696c667978;  // `xyflight`
constexpr std::uint64_t kFlightVersion = 1;

constexpr std::size_t kFlightSlots = 32;     // per area
constexpr std::size_t kFlightEntries = 256;  // per slot; a power of two
constexpr std::size_t kFlightReasonWords = 64;
constexpr std::size_t kFlightHostWords = 8;

using FlightWord = std::atomic<std::uint64_t>;
inline std::uint64_t get(const FlightWord& word) { return word.load(std::memory_order_relaxed); }
static_assert(sizeof(FlightWord) == 8 && FlightWord::is_always_lock_free);

enum class FlightState : std::uint64_t { kIssued, kStarted, kDone, kFailed };

// Two cache lines.
struct FlightRecord {
  FlightWord seal;                 // 1 + its number among the calls; 0 while it is written
  std::array<FlightWord, 3> call;  // CallWords
  FlightWord way;                  // algorithm, protocol and channels; 0: none was chosen
  FlightWord launch;               // the number of its group
  FlightWord ordinal;              // of collectives: how many there were before; the same on all ranks
  FlightWord send, receive, stream;
  FlightWord issued, started, finished;  // ticks; 0: not yet
  FlightWord state;
  FlightWord spare;
  FlightWord otherSeal;
};
static_assert(sizeof(FlightRecord) == 128);

// kCheck: the calls of all ranks are being compared.
enum class FlightWait : std::uint64_t { kNone, kCheck, kData };

enum class FlightUse : std::uint64_t { kFree, kLive, kFailed };

struct FlightSlot {
  FlightWord use;
  FlightWord communicator;  // the same on all ranks
  FlightWord rank, ranks, device;
  FlightWord made;    // ticks
  FlightWord issued;  // calls so far
  // While nothing goes on: 1 + the rank waited for, since when, and when that was last found.
  FlightWord waitsFor, waitsSince, waitSeen;
  // A FlightWait.
  FlightWord waitKind;
  alignas(128) FlightRecord waiting;                  // the call that waits, which may have left the ring
  std::array<FlightWord, kFlightReasonWords> reason;  // text: why it failed
  alignas(128) std::array<FlightRecord, kFlightEntries> records;
};

struct FlightArea {
  FlightWord magic, version, bytes;
  FlightWord pid;
  FlightWord startTicks, startNanoseconds;
  std::array<FlightWord, kFlightHostWords> host;  // text
  alignas(128) std::array<FlightSlot, kFlightSlots> slots;
};

}  // namespace xylem
