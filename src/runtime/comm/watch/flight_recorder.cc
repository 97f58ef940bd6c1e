#include "runtime/comm/watch/flight_recorder.h"

#include <algorithm>
#include <cstring>

#include "runtime/comm/watch/flight_area.h"
#include "runtime/comm/watch/flight_clock.h"

namespace xylem {
namespace {

void put(FlightWord& word, std::uint64_t value) { word.store(value, std::memory_order_relaxed); }

// What is between the seals is not the entry of this number until both are there.
class Sealing {
 public:
  Sealing(FlightRecord& record, std::uint64_t number) : record_(record), number_(number) {
    put(record_.seal, 0);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~Sealing() {
    put(record_.otherSeal, number_ + 1);
    record_.seal.store(number_ + 1, std::memory_order_release);
  }
  Sealing(const Sealing&) = delete;
  Sealing& operator=(const Sealing&) = delete;

 private:
  FlightRecord& record_;
  std::uint64_t number_;
};

std::uint64_t addressOf(const void* pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

struct Issued {
  std::uint64_t number = 0, launch = 0, ordinal = 0;
  CallWords call{};
  std::uint64_t way = 0;
  std::uint64_t when = 0;  // ticks
};

// `kState`: kIssued, or kDone at once.
template <FlightState kState>
void write(FlightRecord& entry, const Issued& issued, const CommOperation& operation) {
  const Sealing sealing(entry, issued.number);
  const std::uint64_t then = kState == FlightState::kDone ? issued.when : 0;
  for (std::size_t i = 0; i < issued.call.size(); ++i) put(entry.call[i], issued.call[i]);
  put(entry.way, issued.way);
  put(entry.launch, issued.launch);
  put(entry.ordinal, issued.ordinal);
  put(entry.send, addressOf(operation.send));
  put(entry.receive, addressOf(operation.receive));
  put(entry.stream, addressOf(operation.stream));
  put(entry.issued, issued.when);
  put(entry.started, then);
  put(entry.finished, then);
  put(entry.state, static_cast<std::uint64_t>(kState));
}

}  // namespace

FlightRecorder::FlightRecorder(const Who& who) : slot_(takeFlightSlot()) {
  put(slot_.communicator, who.communicator);
  put(slot_.rank, static_cast<std::uint64_t>(who.rank));
  put(slot_.ranks, static_cast<std::uint64_t>(who.ranks));
  put(slot_.device, static_cast<std::uint64_t>(who.device));
  put(slot_.made, flightTicks());
}

FlightRecorder::~FlightRecorder() { giveBackFlightSlot(slot_); }

void FlightRecorder::fail(std::string_view reason) noexcept {
  constexpr std::size_t kRoom = kFlightReasonWords * sizeof(std::uint64_t);
  std::array<char, kRoom> text{};
  std::copy_n(reason.data(), std::min(reason.size(), kRoom - 1), text.data());
  for (std::size_t i = 0; i < kFlightReasonWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i * sizeof word, sizeof word);
    put(slot_.reason[i], word);
  }
  slot_.use.store(static_cast<std::uint64_t>(FlightUse::kFailed), std::memory_order_release);
}

void FlightRecorder::addDone(std::span<const CommOperation> operations, std::uint64_t way) {
  const std::uint64_t launch = flights_++, now = flightTicks();
  for (const CommOperation& operation : operations) {
    const std::uint64_t number = calls_++;
    write<FlightState::kDone>(slot_.records[number % kFlightEntries],
                              {number, launch, ordinalOf(operation), pack(signatureOf(operation)), way, now},
                              operation);
  }
  put(slot_.issued, calls_);
}

void Flight::begin(FlightRecorder& recorder) {
  recorder_ = &recorder;
  launch_ = recorder.flights_++;
  first_ = end_ = recorder.calls_;
  started_ = atOnce_ = waits_ = false;
}

void Flight::add(const CommOperation& operation, std::uint64_t way) {
  const std::uint64_t number = recorder_->calls_++;
  const bool first = number == first_;
  if (first) issued_ = flightTicks();
  const Issued issued{number, launch_, recorder_->ordinalOf(operation), pack(signatureOf(operation)),
                      way,    issued_};
  if (first) {
    call_ = issued.call;
    way_ = way;
    ordinal_ = issued.ordinal;
  }
  end_ = number + 1;
  write<FlightState::kIssued>(record(number), issued, operation);
  put(recorder_->slot_.issued, number + 1);
}

// Entries that newer calls have taken over meanwhile are left alone.
void Flight::mark(FlightState state, FlightWord FlightRecord::*time, std::uint64_t now) noexcept {
  for (std::uint64_t number = std::max(first_, end_ - std::min(end_, kFlightEntries)); number < end_;
       ++number) {
    FlightRecord& entry = record(number);
    if (get(entry.seal) != number + 1) continue;
    put(entry.*time, now);
    put(entry.state, static_cast<std::uint64_t>(state));
  }
}

void Flight::start() {
  if (!started_) startAt(flightTicks());
}

void Flight::startAt(std::uint64_t now) noexcept {
  started_ = true;
  startedAt_ = now;
  mark(FlightState::kStarted, &FlightRecord::started, now);
}

void Flight::wait(int peer, FlightWait kind) {
  atOnce_ = false;
  FlightSlot& slot = recorder_->slot_;
  const std::uint64_t now = flightTicks();
  const auto waitsFor = static_cast<std::uint64_t>(peer + 1);
  if (!waits_ || get(slot.waitsFor) != waitsFor) put(slot.waitsSince, now);
  if (!waits_) {
    FlightRecord& entry = slot.waiting;
    const Sealing sealing(entry, first_);
    for (std::size_t i = 0; i < call_.size(); ++i) put(entry.call[i], call_[i]);
    put(entry.way, way_);
    put(entry.launch, launch_);
    put(entry.ordinal, ordinal_);
    put(entry.issued, issued_);
    put(entry.started, startedAt_);
    put(entry.finished, 0);
    put(entry.state, static_cast<std::uint64_t>(FlightState::kStarted));
  }
  put(slot.waitsFor, waitsFor);
  put(slot.waitSeen, now);
  put(slot.waitKind, static_cast<std::uint64_t>(kind));
  waits_ = true;
}

void Flight::stopWaiting() {
  put(recorder_->slot_.waitKind, static_cast<std::uint64_t>(FlightWait::kNone));
  waits_ = false;
}

void Flight::end(bool failed) noexcept {
  if (recorder_ == nullptr) return;
  goOn();
  mark(failed ? FlightState::kFailed : FlightState::kDone, &FlightRecord::finished,
       atOnce_ ? issued_ : flightTicks());
}

}  // namespace xylem
