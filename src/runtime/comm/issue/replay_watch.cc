#include "runtime/comm/issue/replay_watch.h"

#include <algorithm>
#include <chrono>

#include "runtime/comm/issue/captured_launch.h"

namespace xylem::comm {
namespace {

// Time-outs are seconds, and a rank that is lost was lost long before.
constexpr std::chrono::milliseconds kBetweenLooks{5};

}  // namespace

ReplayWatch::~ReplayWatch() {
  {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
  }
  ends_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ReplayWatch::add(CapturedLaunch& launch) {
  const std::lock_guard lock(mutex_);
  launches_.push_back(&launch);
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
}

void ReplayWatch::remove(CapturedLaunch& launch) {
  const std::lock_guard lock(mutex_);
  std::erase(launches_, &launch);
}

void ReplayWatch::loop() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kBetweenLooks, [this] { return isOver_; }))
    for (CapturedLaunch* const launch : launches_) launch->look();
}

}  // namespace xylem::comm
