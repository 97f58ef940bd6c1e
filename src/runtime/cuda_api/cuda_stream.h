#pragma once
// A stream as CUDA has them: a queue of the host device, the rule by which the default stream and others wait
// for each other, and what a capture keeps of it.
//
//   CudaStream stream(CudaStream::Kind::kBlocking, device, 0);
//   stream.order();                        // before enqueueing
//   enqueueWork(stream.queue(), ...);

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/cuda_api/stream_pool.h"
#include "runtime/cuda_api/stream_work.h"
#include "runtime/device/stream.h"

namespace xylem {

class Capture;
class DeviceStreams;

class CudaStream {
 public:
  enum class Kind {
    kDefault,      // of a device: waits for all blocking ones, and they for it
    kBlocking,     // as cudaStreamCreate makes them
    kNonBlocking,  // waits for nobody by itself
  };
  // Of any kind but kDefault.
  CudaStream(Kind kind, int device, int priority);
  // The default stream of a device, which is `queue`.
  CudaStream(DeviceStreams& device, Stream& queue);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  Stream& queue() const { return queue_; }
  Kind kind() const { return kind_; }
  int device() const { return queue_.device(); }
  int priority() const { return priority_; }
  std::uint64_t id() const { return id_; }  // different for each stream of the process

  // Lets what is enqueued next wait for whom it has to by the stream's kind. Throws CudaFailure if that would
  // be somebody who is captured.
  void order();
  // Whether there is work in it, or, in a default stream, in one that it waits for.
  bool pending();

  // The capture it is part of, if any. Changed by Capture only, under its lock (runtime/cuda_api/capture.h); `captured`
  // may be asked by anybody.
  bool captured() const { return captured_.load(std::memory_order_acquire); }

 private:
  friend class Capture;
  friend class DeviceStreams;
  void setCapture(std::shared_ptr<Capture> capture, std::vector<std::size_t> frontier);

  DeviceStreams& devices_;
  const Kind kind_;
  const int priority_;
  const std::uint64_t id_;
  std::optional<PooledStream> pooled_;
  Stream& queue_;
  std::atomic<bool> captured_{false};
  std::shared_ptr<Capture> capture_;
  std::vector<std::size_t> frontier_;  // the nodes that what is captured next depends on
};

// The streams of one device that have to do with its default stream.
class DeviceStreams {
 public:
  static DeviceStreams& of(int device);
  explicit DeviceStreams(int device) : device_(device) {}

  CudaStream& defaultStream();
  // The default stream of the calling thread.
  static CudaStream& ofThread(int device);
  bool capturing() const { return captured_.load(std::memory_order_acquire) > 0; }

 private:
  friend class CudaStream;
  void add(CudaStream& stream);
  void remove(CudaStream& stream);
  // The default stream waits for the blocking ones, and a blocking one for the default stream.
  void orderDefault(Stream& queue);
  bool blockingPending();
  void orderBlocking(Stream& queue) const;

  const int device_;
  std::atomic<int> captured_{0};  // streams of any kind that are captured
  std::atomic<int> capturedBlocking_{0};
  std::atomic<CudaStream*> default_{nullptr};
  std::atomic<std::size_t> blockingCount_{0};  // of the two lists
  std::mutex mutex_;
  std::vector<CudaStream*> blocking_;
  std::vector<SharedPlace> left_;  // by blocking streams that were destroyed before their work was done
};

}  // namespace xylem
