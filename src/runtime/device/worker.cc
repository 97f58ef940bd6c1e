#include "runtime/device/worker.h"

#include <algorithm>
#include <chrono>

#include "core/log.h"
#include "runtime/device/scheduler.h"

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
  wakeFromNap();
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

void Worker::hurry() {
  notify();
  wakeFromNap();
}

void Worker::wakeFromNap() {
  {
    const std::lock_guard lock(napMutex_);
    hurried_ = true;
  }
  napOver_.notify_one();
}

void Worker::nap(std::chrono::microseconds longest) {
  std::unique_lock lock(napMutex_);
  napOver_.wait_for(lock, longest, [this] { return hurried_; });
  hurried_ = false;
}

bool Worker::sleep() {
  int expected = kAwake;
  if (!state_.compare_exchange_strong(expected, kAsleep, std::memory_order_seq_cst)) return false;
  // Whoever enqueued before this point did not see the thread asleep: look once more. What others are at is
  // not theirs to finish, so it keeps the thread awake too.
  if (scheduler_.helpOne(nullptr, device_, false, turn_) != Scheduler::Helped::kNothing) {
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
  auto longest = std::chrono::duration_cast<std::chrono::microseconds>(kShortestNap);
  const auto napLonger = [&] {
    nap(longest);
    longest = std::min(longest * 2, std::chrono::duration_cast<std::chrono::microseconds>(kLongestNap));
  };
  int idleNaps = 0;
  while (state_.load(std::memory_order_relaxed) != kStopping) {
    switch (scheduler_.helpOne(nullptr, device_, backoff.takeStall(), turn_)) {
      case Scheduler::Helped::kAdvanced:
        backoff.reset();
        longest = kShortestNap;
        idleNaps = 0;
        break;
      case Scheduler::Helped::kBlocked:
        backoff.pause();
        longest = kShortestNap;
        idleNaps = 0;
        break;
      case Scheduler::Helped::kTaken:
        idleNaps = 0;
        napLonger();
        break;
      case Scheduler::Helped::kNothing:
        if (++idleNaps <= kIdleNapsBeforeSleep) {
          napLonger();
          break;
        }
        if (!sleep()) return;
        idleNaps = 0;
        backoff = Backoff(scheduler_.policy());
        break;
    }
  }
}

}  // namespace xylem
