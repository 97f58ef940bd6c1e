#include "device/worker.h"

#include <algorithm>
#include <chrono>

#include "core/log.h"
#include "device/scheduler.h"

namespace xylem {
namespace {

using namespace std::chrono_literals;
constexpr auto kShortestNap = 500us;
constexpr auto kLongestNap = 4ms;
constexpr int kIdleNapsBeforeSleep = 50;

}  // namespace

Worker::~Worker() {
  state_.store(kStopping, std::memory_order_seq_cst);
  state_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Worker::notify() {
  const int state = state_.load(std::memory_order_seq_cst);
  if (state == kAwake) return;
  if (state == kNotStarted) {
    const std::lock_guard lock(startMutex_);
    if (state_.load() != kNotStarted) return;
    state_.store(kAwake);
    thread_ = std::thread([this] { loop(); });
    return;
  }
  int expected = kAsleep;
  if (state_.compare_exchange_strong(expected, kAwake)) state_.notify_all();
}

bool Worker::sleep() {
  int expected = kAwake;
  if (!state_.compare_exchange_strong(expected, kAsleep, std::memory_order_seq_cst)) return false;
  // Whoever enqueued before this point did not see the thread asleep: look once more.
  if (scheduler_.helpOne(nullptr, device_, false) != Scheduler::Helped::kNothing) {
    expected = kAsleep;
    state_.compare_exchange_strong(expected, kAwake);
    return state_.load() != kStopping;
  }
  state_.wait(kAsleep);
  return state_.load() != kStopping;
}

void Worker::loop() {
  Logger::setThreadDevice(device_);
  Backoff backoff(scheduler_.policy());
  auto nap = std::chrono::duration_cast<std::chrono::microseconds>(kShortestNap);
  int idleNaps = 0;
  while (state_.load(std::memory_order_relaxed) != kStopping) {
    switch (scheduler_.helpOne(nullptr, device_, backoff.takeStall())) {
      case Scheduler::Helped::kAdvanced:
        backoff.reset();
        nap = kShortestNap;
        idleNaps = 0;
        break;
      case Scheduler::Helped::kBlocked:
        backoff.pause();
        nap = kShortestNap;
        idleNaps = 0;
        break;
      case Scheduler::Helped::kNothing:
        if (++idleNaps > kIdleNapsBeforeSleep) {
          if (!sleep()) return;
          idleNaps = 0;
          backoff = Backoff(scheduler_.policy());
        } else {
          std::this_thread::sleep_for(nap);
          nap = std::min(nap * 2, std::chrono::duration_cast<std::chrono::microseconds>(kLongestNap));
        }
        break;
    }
  }
}

}  // namespace xylem
