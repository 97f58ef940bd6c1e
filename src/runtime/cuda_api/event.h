#pragma once
// CUDA's events. An event stands for the point in a stream at which it was recorded last; waiting for it
// means waiting for the point for which it stands at the time of the call.
//
//   Event event({.timed = true});
//   event.record(stream, false);
//   event.makeWait(other, false);
//   const Event::Point point = event.point();
//   if (point.reached() && !point.failure()) report(event.timedRecord()->when);

#include <memory>
#include <mutex>
#include <optional>

#include "runtime/cuda_api/capture.h"
#include "runtime/cuda_api/cuda_stream.h"
#include "runtime/cuda_api/ipc.h"
#include "runtime/cuda_api/stream_work.h"

namespace xylem::cuda_api {

class Event {
 public:
  struct Options {
    bool timed = true;
    bool interprocess = false;
  };
  explicit Event(Options options);
  // An event of another process.
  explicit Event(const IpcName& name);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // In a captured stream, records a point of the capture, or, if `external`, adds a node that records at each
  // launch.
  void record(CudaStream& stream, bool external);
  // Makes `stream` wait for it. In a captured stream, `external` adds a node that waits at each launch.
  void makeWait(CudaStream& stream, bool external);
  class Point;
  // The point for which it stands now. Throws CudaFailure if it was recorded in a capture.
  Point point() const;
  // The last record; null if it has no time: never recorded, recorded in a capture, or without timing.
  SharedEvent timedRecord() const;
  // Its name for other processes. Throws CudaFailure if it was not made for them.
  IpcName name() const;

 private:
  // For events that processes share: the number of the last record, and of the last one that was reached.
  struct Counts {
    std::atomic<std::uint64_t> recorded;
    std::atomic<std::uint64_t> reached;
  };
  void recordNow(device::Stream& stream);
  void awaitNow(device::Stream& stream) const;

  const bool timed_;
  bool ours_ = true;                // `counts_` was made by this process
  std::shared_ptr<Counts> counts_;  // null unless interprocess
  mutable std::mutex mutex_;
  // At most one of these two is set.
  SharedEvent last_;
  Capture::Mark mark_;
};

class Event::Point {
 public:
  // True also for an event that was never recorded.
  bool reached() const {
    return counts_ != nullptr ? counts_->reached.load(std::memory_order_acquire) >= number_
                              : isReached(event_);
  }
  // Once it is reached: the error of work before it, if the program was not told of that. It is not known for an event of another process.
  std::optional<Error> failure() const { return event_ == nullptr ? std::nullopt : event_->failure; }

 private:
  friend class Event;
  SharedEvent event_;
  std::shared_ptr<Counts> counts_;  // of an interprocess event, in place of event_
  std::uint64_t number_ = 0;
};

}  // namespace xylem::cuda_api
