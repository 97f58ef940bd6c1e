#include "runtime/cuda_api/cuda_stream.h"

#include <algorithm>
#include <map>

#include "core/per_thread.h"
#include "runtime/cuda_api/capture.h"
#include "runtime/cuda_api/cuda_error.h"
#include "runtime/cuda_api/stream_work.h"

namespace xylem::cuda_api {
namespace {

std::uint64_t nextId() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Makes `queue` wait for all work that is in `other` now. The event is recorded first, so that two streams
// that do this to each other at the same time never wait for each other's waiting.
void waitForAll(device::Stream& queue, device::Stream& other) {
  if (other.pending()) waitForEvent(queue, recordEvent(other));
}

}  // namespace

CudaStream::CudaStream(Kind kind, int device, int priority)
    : devices_(DeviceStreams::of(device)),
      kind_(kind),
      priority_(priority),
      id_(nextId()),
      pooled_(device),
      queue_(pooled_->get()) {
  if (kind == Kind::kBlocking) devices_.add(*this);
}

CudaStream::CudaStream(DeviceStreams& device, device::Stream& queue)
    : devices_(device), kind_(Kind::kDefault), priority_(0), id_(nextId()), queue_(queue) {}

CudaStream::~CudaStream() {
  if (captured()) Capture::leave(*this);
  if (kind_ == Kind::kBlocking) devices_.remove(*this);
}

void CudaStream::order() {
  if (kind_ == Kind::kBlocking) {
    devices_.orderBlocking(queue_);
  } else if (kind_ == Kind::kDefault) {
    if (devices_.capturedBlocking_.load(std::memory_order_acquire) > 0) {
      Capture::invalidateBlocking(device());
      throw CudaFailure(cudaErrorStreamCaptureImplicit);
    }
    devices_.orderDefault(queue_);
  }
}

bool CudaStream::pending() {
  return queue_.pending() || (kind_ == Kind::kDefault && devices_.blockingPending());
}

void CudaStream::setCapture(std::shared_ptr<Capture> capture, std::vector<std::size_t> dependencies) {
  const int change = (capture != nullptr ? 1 : 0) - (capture_ != nullptr ? 1 : 0);
  devices_.captured_.fetch_add(change, std::memory_order_acq_rel);
  if (kind_ == Kind::kBlocking) devices_.capturedBlocking_.fetch_add(change, std::memory_order_acq_rel);
  capture_ = std::move(capture);
  dependencies_ = std::move(dependencies);
  captured_.store(capture_ != nullptr, std::memory_order_release);
}

constinit std::atomic<DeviceStreams*> DeviceStreams::first_[kFirst] = {};

// Never destroyed: the streams of threads and of the process refer to it until the process ends.
DeviceStreams& DeviceStreams::make(int device) {
  static auto& mutex = *std::make_unique<std::mutex>().release();
  static auto& devices = *std::make_unique<std::map<int, std::unique_ptr<DeviceStreams>>>().release();
  const std::lock_guard lock(mutex);
  std::unique_ptr<DeviceStreams>& streams = devices[device];
  if (!streams) streams = std::make_unique<DeviceStreams>(device);
  if (const auto at = static_cast<std::size_t>(device); at < kFirst)
    first_[at].store(streams.get(), std::memory_order_release);
  return *streams;
}

CudaStream& DeviceStreams::makeDefault() {
  device::Stream& queue = device::Scheduler::instance().defaultStream(device_);
  const std::lock_guard lock(mutex_);
  CudaStream* known = default_.load(std::memory_order_relaxed);
  if (known == nullptr) {
    known = std::make_unique<CudaStream>(*this, queue).release();
    default_.store(known, std::memory_order_release);
  }
  return *known;
}

CudaStream& DeviceStreams::ofThread(int device) {
  struct OfThread {
    std::map<int, std::unique_ptr<CudaStream>> streams;
  };
  std::unique_ptr<CudaStream>& mine = perThread<OfThread>().streams[device];
  if (!mine) mine = std::make_unique<CudaStream>(CudaStream::Kind::kBlocking, device, 0);
  return *mine;
}

void DeviceStreams::add(CudaStream& stream) {
  const std::lock_guard lock(mutex_);
  blocking_.push_back(&stream);
  blockingCount_.store(blocking_.size() + left_.size(), std::memory_order_release);
}

void DeviceStreams::remove(CudaStream& stream) {
  const std::lock_guard lock(mutex_);
  std::erase(blocking_, &stream);
  std::erase_if(left_, [](const SharedEvent& event) { return isReached(event); });
  // The default stream waits for its unfinished work, too.
  if (stream.queue().pending()) left_.push_back(recordEvent(stream.queue()));
  blockingCount_.store(blocking_.size() + left_.size(), std::memory_order_release);
}

void DeviceStreams::orderDefault(device::Stream& queue) {
  if (blockingCount_.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(mutex_);
  for (const CudaStream* stream : blocking_) waitForAll(queue, stream->queue());
  for (SharedEvent& event : left_) waitForEvent(queue, std::move(event));
  left_.clear();
}

bool DeviceStreams::blockingPending() {
  if (blockingCount_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  return std::any_of(blocking_.begin(), blocking_.end(),
                     [](const CudaStream* stream) { return stream->queue().pending(); }) ||
         !std::all_of(left_.begin(), left_.end(), isReached);
}

void DeviceStreams::orderBlocking(device::Stream& queue) const {
  if (const CudaStream* first = default_.load(std::memory_order_acquire)) waitForAll(queue, first->queue());
}

}  // namespace xylem::cuda_api
