#pragma once
// Writes down what one communicator does: an entry per call, with its times, in memory that `xylem status`
// reads from outside (flight_layout.h). It is always on: an entry is two cache lines, written without
// locks or system calls.
//
//   FlightRecorder recorder({id, rank, ranks, device});
//   flight.begin(recorder);                           // a Flight is the calls of one launch
//   flight.add(operation, &way);
//   flight.start();  ...  flight.end(false);

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/comm/issue/call_signature.h"
#include "runtime/comm/issue/choices.h"
#include "runtime/comm/watch/flight_entry.h"
#include "runtime/comm/watch/flight_layout.h"

namespace xylem {

class FlightRecorder {
 public:
  struct Who {
    std::uint64_t communicator = 0;  // the same on all ranks, and on no other communicator
    int rank = 0, ranks = 1, device = 0;
  };
  explicit FlightRecorder(const Who& who);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  FlightSlot& slot() { return slot_; }
  const FlightSlot& slot() const { return slot_; }
  // A launch of calls that were done as soon as they were issued: cheaper than a Flight, as the clock is read
  // and each entry written once.
  void addDone(std::span<const CommOperation> operations, std::uint64_t way);
  // Why the communicator broke; what is longer than the slot has room for is cut off.
  void fail(std::string_view reason) noexcept;

 private:
  friend class Flight;
  std::uint64_t ordinalOf(const CommOperation& operation) {
    return isPointToPoint(operation.function) ? collectives_ : collectives_++;
  }

  FlightSlot& slot_;
  std::uint64_t flights_ = 0, calls_ = 0, collectives_ = 0;  // so far; the issuing thread's
};

// The calls of one launch. Begun and filled by the thread that issues it, the rest by whoever runs it.
class Flight {
 public:
  void begin(FlightRecorder& recorder);
  // `way`: of collectives that move data (packWay, kDirectWay), otherwise 0.
  void add(const CommOperation& operation, std::uint64_t way);

  void start();
  // When it is issued: it starts at once and, unless it has to wait, ends at once; so the clock need not be
  // read again.
  void startAtOnce() {
    atOnce_ = true;
    startAt(issued_);
  }
  // It waits for this rank (-1: nobody in particular), as far as could be found out.
  void wait(int peer, FlightWait kind);
  // After wait: it goes on.
  void goOn() {
    if (waits_) stopWaiting();
  }
  void end(bool failed) noexcept;

 private:
  FlightRecord& record(std::uint64_t number) const {
    return recorder_->slot_.records[number % kFlightEntries];
  }
  void startAt(std::uint64_t now) noexcept;
  void mark(FlightState state, FlightWord FlightRecord::*time, std::uint64_t now) noexcept;
  void stopWaiting();

  FlightRecorder* recorder_ = nullptr;
  std::uint64_t launch_ = 0;
  std::uint64_t first_ = 0, end_ = 0;  // its calls
  bool started_ = false;
  bool atOnce_ = false;
  bool waits_ = false;
  // Of the first call, which may have left the ring when somebody wants to know what it waits for.
  CallWords call_{};
  std::uint64_t way_ = 0, ordinal_ = 0, issued_ = 0, startedAt_ = 0;
};

}  // namespace xylem
