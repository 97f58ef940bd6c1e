#include "torch/watch.h"

#include <algorithm>

namespace xylem::torch {

Watch::Watch(Others others) : others_(std::move(others)), thread_([this] { run(); }) {}

void Watch::add(const c10::intrusive_ptr<CollectiveWork>& work) {
  {
    const std::lock_guard lock(mutex_);
    forgetDone();
    works_.push_back(work);
  }
  note(work->deadline());
}

void Watch::note(Clock::time_point deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (deadline >= wakeUp_) return;
    wakeUp_ = deadline;
  }
  changed_.notify_all();
}

bool Watch::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  forgetDone();
  return !works_.empty();
}

// Works complete in order.
void Watch::forgetDone() {
  while (!works_.empty() && works_.front()->isCompleted()) works_.pop_front();
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    wakeUp_ = Clock::time_point::max();
    forgetDone();
    const Clock::time_point now = Clock::now();
    c10::intrusive_ptr<CollectiveWork> late;
    for (const auto& work : works_) {
      if (work->deadline() <= now && !work->isCompleted())
        late = work;
      else
        wakeUp_ = std::min(wakeUp_, work->deadline());
    }
    lock.unlock();
    if (late) late->expire();
    late.reset();
    const std::optional<Clock::time_point> next = others_();
    lock.lock();
    if (next) wakeUp_ = std::min(wakeUp_, *next);
    if (ending_) return;
    // note() wakes it for an earlier deadline.
    if (wakeUp_ == Clock::time_point::max())
      changed_.wait(lock);
    else
      changed_.wait_until(lock, wakeUp_);
  }
}

}  // namespace xylem::torch
