#pragma once
// A CUDA stream: a stream of the host device, the rule by which the default stream and others wait for each
// other, and the state of its capture.
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

#include "runtime/cuda_api/stream_work.h"
#include "runtime/device/stream.h"

namespace xylem::cuda_api {

class Capture;
class DeviceStreams;

class CudaStream {
 public:
  enum class Kind {
    kDefault,      // of a device: waits for all blocking streams, and they wait for it
    kBlocking,     // made by cudaStreamCreate
    kNonBlocking,  // waits for no other stream by itself
  };
  // A stream of another kind than kDefault.
  CudaStream(Kind kind, int device, int priority);
  // The default stream of a device, which is `queue`.
  CudaStream(DeviceStreams& device, device::Stream& queue);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  device::Stream& queue() const { return queue_; }
  Kind kind() const { return kind_; }
  int device() const { return queue_.device(); }
  int priority() const { return priority_; }
  std::uint64_t id() const { return id_; }  // different for each stream of the process

  // Makes the work that is enqueued next wait for the streams for which a stream of this kind has to wait.
  // Throws CudaFailure if one of those is captured.
  void order();
  // True if it has work left, or, for a default stream, if a stream has for which it waits.
  bool pending();

  // True if it is part of a capture. Any thread may ask; only Capture changes it, under its lock
  // (runtime/cuda_api/capture.h).
  bool captured() const { return captured_.load(std::memory_order_acquire); }

 private:
  friend class Capture;
  friend class DeviceStreams;
  void setCapture(std::shared_ptr<Capture> capture, std::vector<std::size_t> dependencies);

  DeviceStreams& devices_;
  const Kind kind_;
  const int priority_;
  const std::uint64_t id_;
  std::optional<PooledStream> pooled_;
  device::Stream& queue_;
  std::atomic<bool> captured_{false};
  std::shared_ptr<Capture> capture_;
  std::vector<std::size_t> dependencies_;  // nodes on which the next captured one depends
};

// The streams of one device that wait for its default stream, or for which it waits.
class DeviceStreams {
 public:
  static DeviceStreams& of(int device) {
    const auto at = static_cast<std::size_t>(device);
    DeviceStreams* const known = at < kFirst ? first_[at].load(std::memory_order_acquire) : nullptr;
    return known != nullptr ? *known : make(device);
  }
  explicit DeviceStreams(int device) : device_(device) {}

  CudaStream& defaultStream() {
    CudaStream* const known = default_.load(std::memory_order_acquire);
    return known != nullptr ? *known : makeDefault();
  }
  // The default stream of the calling thread.
  static CudaStream& ofThread(int device);
  bool capturing() const { return captured_.load(std::memory_order_acquire) > 0; }

 private:
  friend class CudaStream;
  static DeviceStreams& make(int device);
  CudaStream& makeDefault();
  void add(CudaStream& stream);
  void remove(CudaStream& stream);
  // `queue`, the default stream's, waits for all blocking streams; a blocking stream's waits for the default
  // stream.
  void orderDefault(device::Stream& queue);
  bool blockingPending();
  void orderBlocking(device::Stream& queue) const;

  // The first devices' objects are found without a lock: each call in a default stream looks for one.
  static constexpr std::size_t kFirst = 256;
  static std::atomic<DeviceStreams*> first_[kFirst];

  const int device_;
  std::atomic<int> captured_{0};  // streams of any kind that are captured
  std::atomic<int> capturedBlocking_{0};
  std::atomic<CudaStream*> default_{nullptr};
  std::atomic<std::size_t> blockingCount_{0};  // the length of both lists below
  std::mutex mutex_;
  std::vector<CudaStream*> blocking_;
  std::vector<SharedEvent> left_;  // ends of the work of blocking streams that were destroyed before
};

}  // namespace xylem::cuda_api
