#pragma once
// How CUDA's calls put work into streams: functions as tasks, points in streams for which others wait,
// functions of the program, and streams that are borrowed.
//
//   enqueueWork(stream, [=] { std::memcpy(to, from, bytes); });
//   const SharedEvent copied = recordEvent(stream);
//   waitForEvent(other, copied);   // tasks enqueued on `other` from now on wait until `stream` has copied
//   callOnHostThread([=] { function(argument); });

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "runtime/device/scheduler.h"
#include "runtime/device/stream.h"

namespace xylem::cuda_api {

// A function as a task. Frees itself when it is finished. kBrief: see Task::isBrief().
template <typename Work, bool kBrief>
class StreamTask final : public device::Task {
 public:
  explicit StreamTask(Work work) : work_(std::move(work)) {}
  device::Progress step() override { return work_(); }
  bool isBrief() const override { return kBrief; }
  void finish(const Error*) noexcept override { const std::unique_ptr<StreamTask> self(this); }

 private:
  Work work_;
};

// Enqueues a function that returns a Progress, like Task::step, and is called until that is kDone.
template <bool kBrief = false, typename Work>
void enqueueSteps(device::Stream& stream, Work work) {
  device::Scheduler::instance().enqueue(
      stream, *std::make_unique<StreamTask<Work, kBrief>>(std::move(work)).release());
}

// Enqueues a function that is called once.
template <bool kBrief = false, typename Work>
void enqueueWork(device::Stream& stream, Work work) {
  enqueueSteps<kBrief>(stream, [work = std::move(work)]() mutable {
    work();
    return device::Progress::kDone;
  });
}

// The same for a function that takes hardly any time: it is called now if nothing stands before it.
template <typename Work>
void enqueueInstant(device::Stream& stream, Work work) {
  if (!stream.pending()) return work();
  enqueueWork<true>(stream, std::move(work));
}

// A point in a stream, reached once all tasks before it are done. It outlives the stream. (Event, in event.h,
// is CUDA's: it can be recorded again and again, and each record is a StreamEvent of its own.)
struct StreamEvent {
  // Written before `reached`: when that was, and the error of a task before it that no call had told the program of.
  std::chrono::steady_clock::time_point when;
  std::optional<Error> failure;
  std::atomic<bool> reached{false};
};
using SharedEvent = std::shared_ptr<StreamEvent>;

// True for null: nothing has to be waited for.
inline bool isReached(const SharedEvent& event) {
  return event == nullptr || event->reached.load(std::memory_order_acquire);
}

inline void enqueueRecord(device::Stream& stream, SharedEvent event) {
  enqueueInstant(stream, [&stream, event = std::move(event)] {
    try {
      event->failure = stream.error();
    } catch (const std::bad_alloc&) {
      // It is reached all the same: others wait for it.
    }
    event->when = std::chrono::steady_clock::now();
    event->reached.store(true, std::memory_order_release);
  });
}

// The point in the stream behind all tasks that are in it now.
inline SharedEvent recordEvent(device::Stream& stream) {
  auto event = std::make_shared<StreamEvent>();
  enqueueRecord(stream, event);
  return event;
}

// Tasks enqueued on `stream` from now on wait until the event is reached.
inline void waitForEvent(device::Stream& stream, SharedEvent event) {
  if (isReached(event)) return;
  enqueueSteps<true>(stream, [event = std::move(event)] {
    return isReached(event) ? device::Progress::kDone : device::Progress::kWouldBlock;
  });
}

// Calls a function of the program on a thread that does nothing else; starts one if all such threads are
// busy. The function may take long, or wait for something that the thread that runs the stream does only
// later.
void callOnHostThread(std::function<void()> call);

// A stream borrowed from a pool. Giving it back neither waits for its work nor drops it; the pool lends only
// idle streams.
class PooledStream {
 public:
  explicit PooledStream(int device);
  ~PooledStream();
  PooledStream(const PooledStream&) = delete;
  PooledStream& operator=(const PooledStream&) = delete;

  // The stream exists until the process ends, so tasks of other streams may refer to it.
  device::Stream& get() const { return *stream_; }

 private:
  device::Stream* stream_;
};

}  // namespace xylem::cuda_api
