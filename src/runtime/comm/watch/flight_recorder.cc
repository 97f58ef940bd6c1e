#include "runtime/comm/watch/flight_recorder.h"

#include <algorithm>
#include <cstring>

#include "core/fault_point.h"
#include "runtime/comm/watch/record_buffer.h"

namespace xylem::comm {
namespace {

void put(RecordWord& word, std::uint64_t value) { word.store(value, std::memory_order_relaxed); }

// Writes a record between its two seals. A reader takes a record only if both seals have its number.
class RecordSeal {
 public:
  RecordSeal(RawRecord& record, std::uint64_t number) : record_(record), number_(number) {
    put(record_.seal, 0);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~RecordSeal() {
    put(record_.otherSeal, number_ + 1);
    record_.seal.store(number_ + 1, std::memory_order_release);
  }
  RecordSeal(const RecordSeal&) = delete;
  RecordSeal& operator=(const RecordSeal&) = delete;

 private:
  RawRecord& record_;
  std::uint64_t number_;
};

std::uint64_t addressOf(const void* pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

struct Issued {
  std::uint64_t number = 0, launch = 0, ordinal = 0;
  CallWords call{};
  std::uint64_t path = 0;
  std::uint64_t when = 0;  // ticks
};

// `kState`: kIssued, or kDone for calls that are done at once.
template <CallState kState>
[[gnu::always_inline]] inline void write(RawRecord& entry, const Issued& issued,
                                         const CommOperation& operation) {
  const RecordSeal sealing(entry, issued.number);
  const std::uint64_t then = kState == CallState::kDone ? issued.when : 0;
  for (std::size_t i = 0; i < issued.call.size(); ++i) put(entry.call[i], issued.call[i]);
  put(entry.path, issued.path);
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

template <std::size_t Words>
void putText(std::array<RecordWord, Words>& words, std::string_view said) {
  std::array<char, Words * sizeof(std::uint64_t)> text{};
  std::copy_n(said.data(), std::min(said.size(), text.size() - 1), text.data());
  for (std::size_t i = 0; i < Words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i * sizeof word, sizeof word);
    put(words[i], word);
  }
}

}  // namespace

FlightRecorder::FlightRecorder(const Who& who, RingUse use) : ring_(takeRecordRing(use)) {
  put(ring_.communicator, who.communicator);
  put(ring_.rank, static_cast<std::uint64_t>(who.rank));
  put(ring_.ranks, static_cast<std::uint64_t>(who.ranks));
  put(ring_.device, static_cast<std::uint64_t>(who.device));
  put(ring_.made, readTicks());
}

FlightRecorder::~FlightRecorder() { returnRecordRing(ring_); }

void FlightRecorder::fail(std::string_view reason) noexcept {
  putText(ring_.reason, reason);
  ring_.use.store(static_cast<std::uint64_t>(RingUse::kFailed), std::memory_order_release);
}

void FlightRecorder::waitToJoin(std::string_view what, int peer) noexcept {
  putText(ring_.reason, what);
  const std::uint64_t now = readTicks();
  put(ring_.waitsFor, static_cast<std::uint64_t>(peer + 1));
  put(ring_.waitsSince, now);
  put(ring_.waitSeen, now);
  put(ring_.waitKind, static_cast<std::uint64_t>(WaitKind::kJoin));
}

void FlightRecorder::goOnJoining() noexcept {
  put(ring_.waitKind, static_cast<std::uint64_t>(WaitKind::kNone));
}

void FlightRecorder::waitInReplay(int peer, std::uint64_t since) noexcept {
  put(ring_.waitsFor, static_cast<std::uint64_t>(peer + 1));
  put(ring_.waitsSince, since);
  put(ring_.waitSeen, readTicks());
  put(ring_.waitKind, static_cast<std::uint64_t>(WaitKind::kReplay));
}

void FlightRecorder::goOnInReplay() noexcept {
  if (get(ring_.waitKind) == static_cast<std::uint64_t>(WaitKind::kReplay))
    put(ring_.waitKind, static_cast<std::uint64_t>(WaitKind::kNone));
}

void FlightRecorder::showCopies(std::string_view copies) noexcept { putText(ring_.copies, copies); }

void FlightRecorder::joined() noexcept {
  goOnJoining();
  putText(ring_.reason, "");
  ring_.use.store(static_cast<std::uint64_t>(RingUse::kLive), std::memory_order_release);
}

template <typename CallOf>
void FlightRecorder::writeDone(std::span<const CommOperation> operations, CallOf&& callOf,
                               std::uint64_t path) {
  const std::uint64_t launch = launches_++, now = ticks_.now();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::uint64_t number = calls_++;
    write<CallState::kDone>(ring_.records[number % kRecordsPerRing],
                            {number, launch, ordinalOf(operations[i]), callOf(i), path, now}, operations[i]);
  }
  put(ring_.issued, calls_);
}

void FlightRecorder::addDone(std::span<const CommOperation> operations, std::uint64_t path) {
  writeDone(
      operations, [&](std::size_t i) { return pack(signatureOf(operations[i])); }, path);
}

void FlightRecorder::addDone(std::span<const CommOperation> operations, std::span<const CallWords> calls,
                             std::uint64_t path) {
  writeDone(
      operations, [&](std::size_t i) -> const CallWords& { return calls[i]; }, path);
}

void LaunchRecorder::begin(FlightRecorder& recorder) {
  recorder_ = &recorder;
  launch_ = recorder.launches_++;
  recorder.ticks_.stop();
  first_ = end_ = recorder.calls_;
  started_ = atOnce_ = waits_ = false;
}

void LaunchRecorder::add(const CommOperation& operation, std::uint64_t path) {
  const std::uint64_t number = recorder_->calls_++;
  const bool first = number == first_;
  if (first) issued_ = readTicks();
  const Issued issued{number, launch_, recorder_->ordinalOf(operation), pack(signatureOf(operation)),
                      path,   issued_};
  if (first) {
    call_ = issued.call;
    path_ = path;
    ordinal_ = issued.ordinal;
  }
  end_ = number + 1;
  write<CallState::kIssued>(record(number), issued, operation);
  put(recorder_->ring_.issued, number + 1);
}

// Skips records that newer calls have overwritten.
void LaunchRecorder::mark(CallState state, RecordWord RawRecord::*time, std::uint64_t now) noexcept {
  for (std::uint64_t number = std::max(first_, end_ - std::min(end_, kRecordsPerRing)); number < end_;
       ++number) {
    RawRecord& entry = record(number);
    if (get(entry.seal) != number + 1) continue;
    put(entry.*time, now);
    put(entry.state, static_cast<std::uint64_t>(state));
  }
}

void LaunchRecorder::start() {
  if (!started_) startAt(readTicks());
}

void LaunchRecorder::startAt(std::uint64_t now) noexcept {
  started_ = true;
  startedAt_ = now;
  mark(CallState::kStarted, &RawRecord::started, now);
}

void LaunchRecorder::wait(int peer, WaitKind kind) {
  XYLEM_FAULT_POINT(kWait);
  atOnce_ = false;
  RecordRing& ring = recorder_->ring_;
  const std::uint64_t now = readTicks();
  if (!waits_ || waitsFor_ != peer) {
    waitsFor_ = peer;
    waitsSince_ = now;
  }
  if (!waits_) {
    RawRecord& entry = ring.waiting;
    const RecordSeal sealing(entry, first_);
    for (std::size_t i = 0; i < call_.size(); ++i) put(entry.call[i], call_[i]);
    put(entry.path, path_);
    put(entry.launch, launch_);
    put(entry.ordinal, ordinal_);
    put(entry.issued, issued_);
    put(entry.started, startedAt_);
    put(entry.finished, 0);
    put(entry.state, static_cast<std::uint64_t>(CallState::kStarted));
  }
  put(ring.waitsFor, static_cast<std::uint64_t>(peer + 1));
  put(ring.waitsSince, waitsSince_);
  put(ring.waitSeen, now);
  put(ring.waitKind, static_cast<std::uint64_t>(kind));
  waits_ = true;
}

void LaunchRecorder::stopWaiting() {
  put(recorder_->ring_.waitKind, static_cast<std::uint64_t>(WaitKind::kNone));
  waits_ = false;
}

void LaunchRecorder::end(bool failed) noexcept {
  XYLEM_FAULT_POINT(kEnd);
  if (recorder_ == nullptr) return;
  goOn();
  mark(failed ? CallState::kFailed : CallState::kDone, &RawRecord::finished, atOnce_ ? issued_ : readTicks());
}

}  // namespace xylem::comm
