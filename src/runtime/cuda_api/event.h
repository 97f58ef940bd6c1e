#pragma once
// Events: each stands for the place where it was recorded last. Whoever waits for it waits for the place that
// it stood for when the wait was asked for.
//
//   Event event({.timed = true});
//   event.record(stream, false);
//   event.letWait(other, false);
//   event.reached()   // whether the place is

#include <functional>
#include <memory>
#include <mutex>

#include "runtime/cuda_api/capture.h"
#include "runtime/cuda_api/cuda_stream.h"
#include "runtime/cuda_api/ipc.h"
#include "runtime/cuda_api/stream_work.h"

namespace xylem {

class Event {
 public:
  struct Options {
    bool timed = true;
    bool interprocess = false;
  };
  explicit Event(Options options);
  // One of another process.
  explicit Event(const IpcName& name);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // In a captured stream: a mark of the capture, or, if `external`, a node that records at each launch.
  void record(CudaStream& stream, bool external);
  void letWait(CudaStream& stream, bool external);
  // True if it was never recorded. Throws CudaFailure if the place is in a capture.
  bool reached() const { return whenReached()(); }
  // For waiting: tells about the place that it stands for now.
  std::function<bool()> whenReached() const;
  // Null if it has no time: never recorded, of a capture, or without timing.
  SharedPlace timedPlace() const;
  // For other processes; throws CudaFailure if it is not for them.
  IpcName name() const;

 private:
  // Counts records, in memory that processes share.
  struct Counts {
    std::atomic<std::uint64_t> asked;
    std::atomic<std::uint64_t> reached;
  };
  void recordNow(Stream& stream);
  void awaitNow(Stream& stream) const;

  const bool timed_;
  bool ours_ = true;                // `counts_` was made here
  std::shared_ptr<Counts> counts_;  // null unless interprocess
  mutable std::mutex mutex_;
  SharedPlace place_;
  Capture::Mark mark_;
};

}  // namespace xylem
