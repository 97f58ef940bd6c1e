#include "runtime/comm/issue/replay_watch.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/comm/issue/captured_launch.h"

namespace xylem::comm {
namespace {

using Clock = std::chrono::steady_clock;

// From one pass to the next: the shorter time after a pass that has seen a replay wait, and up to the longer one while none waits. Time-outs
// are seconds, and a rank that is lost was lost long before.
constexpr Clock::duration kShortestPause = std::chrono::milliseconds(5);
constexpr Clock::duration kLongestPause = std::chrono::milliseconds(50);
// The thread takes at most one in this many parts of a core, however many launches there are.
constexpr int kPartsOfCore = 20;
// A thread that removes a launch waits for at most this many looks.
constexpr std::size_t kLaunchesAtOnce = 16;

// That the calling thread has had of a core.
Clock::duration coreTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

ReplayWatch::~ReplayWatch() {
  {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ReplayWatch::add(CapturedLaunch& launch) {
  const std::lock_guard lock(mutex_);
  launches_.push_back(&launch);
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  if (launches_.size() == 1) changed_.notify_one();
}

void ReplayWatch::remove(CapturedLaunch& launch) {
  std::unique_lock lock(mutex_);
  const CapturedLaunch* const gone[] = {&launch};
  forget(gone);
  looked_.wait(lock, [&] { return std::find(batch_.begin(), batch_.end(), &launch) == batch_.end(); });
}

void ReplayWatch::forget(std::span<const CapturedLaunch* const> gone) {
  if (gone.empty()) return;
  const auto isGone = [&](const CapturedLaunch* launch) {
    return std::find(gone.begin(), gone.end(), launch) != gone.end();
  };
  const auto next = launches_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, launches_.size()));
  next_ -= static_cast<std::size_t>(std::count_if(launches_.begin(), next, isGone));
  std::erase_if(launches_, isGone);
}

void ReplayWatch::loop() {
  std::unique_lock lock(mutex_);
  Clock::duration pause = kShortestPause, took{};
  for (;;) {
    if (launches_.empty()) pause = kShortestPause;
    changed_.wait(lock, [this] { return isOver_ || !launches_.empty(); });
    if (changed_.wait_for(lock, std::max(pause, kPartsOfCore * took), [this] { return isOver_; })) return;
    const Clock::duration begin = coreTime();
    const bool anyWaits = lookAtAll(lock);
    took = coreTime() - begin;
    pause = anyWaits ? kShortestPause : std::min(2 * pause, kLongestPause);
  }
}

// Returns whether any of them waits. An unused launch is added again if a graph takes it.
bool ReplayWatch::lookAtAll(std::unique_lock<std::mutex>& lock) {
  bool anyWaits = false, askedDriver = false;
  for (next_ = 0; next_ < launches_.size() && !isOver_;) {
    const std::size_t end = std::min(next_ + kLaunchesAtOnce, launches_.size());
    batch_.assign(&launches_[next_], &launches_[next_] + (end - next_));
    next_ = end;
    lock.unlock();
    unused_.clear();
    for (CapturedLaunch* const launch : batch_) {
      const CapturedLaunch::Seen seen = launch->look();
      anyWaits = anyWaits || seen == CapturedLaunch::Seen::kWait;
      if (seen == CapturedLaunch::Seen::kUnused)
        unused_.push_back(launch);
      else if (!std::exchange(askedDriver, true))
        launch->checkHealth();
    }
    lock.lock();
    batch_.clear();
    forget(unused_);
    looked_.notify_all();
  }
  return anyWaits;
}

}  // namespace xylem::comm
