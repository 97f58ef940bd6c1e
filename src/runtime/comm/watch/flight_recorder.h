#pragma once
// Records what one communicator does: each call with its times, in memory that `xylem status` reads from
// outside (record_buffer.h). It is always on: a record takes two cache lines, written without locks or system
// calls.
//
//   FlightRecorder recorder({communicator, rank, ranks, device}, RingUse::kJoining);
//   recorder.waitToJoin("waiting for all ranks to check in", -1);
//   recorder.joined();
//   LaunchRecorder launch;                            // the calls of one launch
//   launch.begin(recorder);
//   launch.add(operation, packPath(chosen));
//   launch.start();  ...  launch.end(false);

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/comm/issue/choices.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/watch/call_record.h"
#include "runtime/comm/watch/record_buffer.h"
#include "runtime/comm/watch/shared_ticks.h"

namespace xylem::comm {

class FlightRecorder {
 public:
  struct Who {
    std::uint64_t communicator = 0;  // the same on all ranks, and on no other communicator
    int rank = 0, ranks = 1, device = 0;
  };
  explicit FlightRecorder(const Who& who, RingUse use = RingUse::kLive);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  RecordRing& ring() { return ring_; }
  const RecordRing& ring() const { return ring_; }
  // Records a launch of calls that were done as soon as they were issued. It is cheaper than a
  // LaunchRecorder: it reads the clock once at most (SharedTicks) and writes each record once.
  void addDone(std::span<const CommOperation> operations, std::uint64_t path);
  // `calls`: their signatures, which the caller has.
  void addDone(std::span<const CommOperation> operations, std::span<const CallWords> calls,
               std::uint64_t path);
  // While the communicator is made: the rank waits, as `what` says, for `peer` (-1: no rank in particular).
  void waitToJoin(std::string_view what, int peer) noexcept;
  // The wait is over.
  void goOnJoining() noexcept;
  // A replay of a graph waits for `peer` (-1: no rank in particular) since then (ticks), or does not any more. Any thread.
  void waitInReplay(int peer, std::uint64_t since) noexcept;
  void goOnInReplay() noexcept;
  // How data moves within the host; what does not fit is cut off. One call at a time.
  void showCopies(std::string_view copies) noexcept;
  // The communicator is made.
  void joined() noexcept;
  // Records why the communicator failed; a reason that does not fit is cut off.
  void fail(std::string_view reason) noexcept;

 private:
  friend class LaunchRecorder;
  template <typename CallOf>
  void writeDone(std::span<const CommOperation> operations, CallOf&& callOf, std::uint64_t path);
  std::uint64_t ordinalOf(const CommOperation& operation) {
    return isPointToPoint(operation.function) ? collectives_ : collectives_++;
  }

  RecordRing& ring_;
  // Used by the issuing thread only.
  std::uint64_t launches_ = 0, calls_ = 0, collectives_ = 0;
  SharedTicks ticks_;
};

// Records the calls of one launch. The thread that issues it calls begin() and add(), the one that runs it
// the rest.
class LaunchRecorder {
 public:
  void begin(FlightRecorder& recorder);
  // `path`: of a collective that moves data (packPath, kDirectPath), otherwise 0.
  void add(const CommOperation& operation, std::uint64_t path);

  void start();
  // Call this when the launch is issued, if it starts at once. If it never waits, it also ends at once: the
  // clock is not read again.
  void startAtOnce() {
    atOnce_ = true;
    startAt(issued_);
  }
  // The launch waits for `peer`, as far as this rank knows (-1: no rank in particular).
  void wait(int peer, WaitKind kind);
  // The launch advances again after wait().
  void goOn() {
    if (waits_) stopWaiting();
  }
  void end(bool failed) noexcept;

 private:
  RawRecord& record(std::uint64_t number) const { return recorder_->ring_.records[number % kRecordsPerRing]; }
  void startAt(std::uint64_t now) noexcept;
  void mark(CallState state, RecordWord RawRecord::*time, std::uint64_t now) noexcept;
  void stopWaiting();

  FlightRecorder* recorder_ = nullptr;
  std::uint64_t launch_ = 0;
  std::uint64_t first_ = 0, end_ = 0;  // its calls
  bool started_ = false;
  bool atOnce_ = false;
  bool waits_ = false;
  int waitsFor_ = -1;
  std::uint64_t waitsSince_ = 0;
  // The first call, whose record may have left the ring when a reader asks what the launch waits for.
  CallWords call_{};
  std::uint64_t path_ = 0, ordinal_ = 0, issued_ = 0, startedAt_ = 0;
};

}  // namespace xylem::comm
