#include "runtime/comm/issue/launches.h"

#include "runtime/comm/watch/flight_dump.h"
#include "runtime/device/scheduler.h"

namespace xylem {
namespace {

// Calls in the log beside an error.
constexpr std::size_t kCallsAtTimeout = 5;

}  // namespace

Launch& Launches::next() {
  throwIfFailed();
  return unchecked();
}

Launch& Launches::unchecked() {
  if (free_ == nullptr) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (free_ == nullptr) free_ = all_.emplace_back(std::make_unique<Launch>(*this)).get();
  Launch& launch = *free_;
  free_ = launch.link;
  launch.link = nullptr;
  launch.begin(issued_.load(std::memory_order_relaxed));
  return launch;
}

void Launches::issue(Launch& launch, Stream& stream, bool lasting) {
  issued_.fetch_add(1, std::memory_order_release);
  Scheduler::instance().enqueue(stream, launch, lasting);
}

std::optional<Error> Launches::failure() const {
  const std::lock_guard lock(failureMutex_);
  if (!failure_) return std::nullopt;
  return Error(failure_->code(), "{}", failure_->what());  // its text is shared with nobody
}

bool Launches::keep(const Error& error) noexcept {
  {
    const std::lock_guard lock(failureMutex_);
    if (failure_) return false;
    failure_ = Error(error.code(), "{}", error.what());
  }
  recorder_.fail(error.what());
  failed_.store(true, std::memory_order_seq_cst);
  return true;
}

void Launches::fail(const Error& error) noexcept {
  if (keep(error)) {
    log_.warn("{}", error.what());
    if (log_.enabled(LogLevel::kWarn, Subsystem::kAll))
      log_.warn("last calls of {}", dumpFlight(recorder_.slot(), kCallsAtTimeout));
  }
  // Once more for what was still being connected when the first failure was told.
  watch_.abort(rank_, error.what());
}

void Launches::breakOff(const Error& error) noexcept {
  const std::string text = error.what();
  keep(error);
  // At once: launches may end only after other work of their streams, which may wait for peers that wait for
  // this rank.
  watch_.abort(rank_, text);
}

void Launches::putBack(Launch& launch) noexcept {
  Launch* newest = returned_.load(std::memory_order_relaxed);
  do {
    launch.link = newest;
  } while (!returned_.compare_exchange_weak(newest, &launch, std::memory_order_release,
                                            std::memory_order_relaxed));
}

}  // namespace xylem
