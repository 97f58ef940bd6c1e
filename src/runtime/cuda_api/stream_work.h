#pragma once
// Work in a stream that is given as a function, and places in streams that others wait for.
//
//   enqueueWork(stream, [=] { std::memcpy(to, from, bytes); });
//   const SharedPlace here = markPlace(stream);
//   awaitPlace(other, here);   // what is enqueued on `other` from now on waits until `stream` got there

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "runtime/device/scheduler.h"
#include "runtime/device/stream.h"

namespace xylem {

// One piece of work in a stream; frees itself.
template <typename Work>
class StreamTask final : public Task {
 public:
  explicit StreamTask(Work work) : work_(std::move(work)) {}
  // `work` says how far it got.
  Progress step() override { return work_(); }
  void finish(const Error*) noexcept override { const std::unique_ptr<StreamTask> self(this); }

 private:
  Work work_;
};

// Enqueues work that says, like a Task's step, how far it got.
template <typename Work>
void enqueueSteps(Stream& stream, Work work) {
  Scheduler::instance().enqueue(stream, *std::make_unique<StreamTask<Work>>(std::move(work)).release());
}

// Enqueues work that is done at once.
template <typename Work>
void enqueueWork(Stream& stream, Work work) {
  enqueueSteps(stream, [work = std::move(work)]() mutable {
    work();
    return Progress::kDone;
  });
}

// Somewhere in a stream. A value of its own, so that it outlives the stream and who asked for it.
struct StreamPlace {
  std::chrono::steady_clock::time_point when;  // written before `reached`
  std::atomic<bool> reached{false};
};
using SharedPlace = std::shared_ptr<StreamPlace>;

// Null stands for a place that was always reached.
inline bool isReached(const SharedPlace& place) {
  return place == nullptr || place->reached.load(std::memory_order_acquire);
}

inline void enqueuePlace(Stream& stream, SharedPlace place) {
  enqueueWork(stream, [place = std::move(place)] {
    place->when = std::chrono::steady_clock::now();
    place->reached.store(true, std::memory_order_release);
  });
}

inline SharedPlace markPlace(Stream& stream) {
  auto place = std::make_shared<StreamPlace>();
  enqueuePlace(stream, place);
  return place;
}

inline void awaitPlace(Stream& stream, SharedPlace place) {
  if (isReached(place)) return;
  enqueueSteps(stream, [place = std::move(place)] {
    return isReached(place) ? Progress::kDone : Progress::kWouldBlock;
  });
}

}  // namespace xylem
