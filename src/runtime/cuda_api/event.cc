#include "runtime/cuda_api/event.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/shareable_memory.h"
#include "runtime/cuda_api/cuda_error.h"

namespace xylem::cuda_api {

Event::Event(Options options) : timed_(options.timed) {
  if (!options.interprocess) return;
  counts_ = std::shared_ptr<Counts>(new (ShareableMemory::allocate(sizeof(Counts))) Counts{},
                                    [](Counts* counts) { ShareableMemory::release(counts); });
}

Event::Event(const IpcName& name) : timed_(false), ours_(false) {
  counts_ = std::shared_ptr<Counts>(static_cast<Counts*>(openIpc(name, IpcKind::kEvent)),
                                    [](Counts* counts) { closeIpc(counts); });
}

void Event::recordNow(device::Stream& stream) {
  if (stream.pending()) device::Scheduler::instance().catchUp(stream);
  if (counts_ != nullptr) {
    const std::uint64_t number = counts_->recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
    enqueueInstant(stream, [counts = counts_, number] {
      std::uint64_t known = counts->reached.load(std::memory_order_relaxed);
      while (known < number &&
             !counts->reached.compare_exchange_weak(known, number, std::memory_order_release)) {
      }
    });
    return;
  }
  auto event = std::make_shared<StreamEvent>();
  {
    const std::lock_guard lock(mutex_);
    last_ = event;
    mark_ = {};
  }
  enqueueRecord(stream, std::move(event));
}

void Event::record(CudaStream& stream, bool external) {
  if (!stream.captured()) {
    stream.order();
    return recordNow(stream.queue());
  }
  if (external || counts_ != nullptr) {
    // The program keeps the event as long as it launches the graph.
    Capture::add(stream, cudaGraphNodeTypeEventRecord, [this](device::Stream& queue) { recordNow(queue); });
    return;
  }
  Capture::Mark mark = Capture::mark(stream);
  const std::lock_guard lock(mutex_);
  mark_ = std::move(mark);
  last_ = nullptr;
}

Event::Point Event::point() const {
  Point point;
  if (counts_ != nullptr) {
    point.counts_ = counts_;
    point.number_ = counts_->recorded.load(std::memory_order_acquire);
    return point;
  }
  const std::lock_guard lock(mutex_);
  if (mark_.set) throw CudaFailure(cudaErrorCapturedEvent);
  point.event_ = last_;
  return point;
}

// Work that waits for a point fails with the work before that.
void Event::awaitNow(device::Stream& stream) const {
  const Point awaited = point();
  if (awaited.reached() && !awaited.failure()) return;
  device::Scheduler::instance().catchUp(stream);
  enqueueSteps<true>(stream, [awaited] {
    if (!awaited.reached()) return device::Progress::kWouldBlock;
    if (const std::optional<Error> failure = awaited.failure()) throw Error(*failure);
    return device::Progress::kDone;
  });
}

void Event::makeWait(CudaStream& stream, bool external) {
  Capture::Mark mark;
  bool recorded = counts_ != nullptr;
  {
    const std::lock_guard lock(mutex_);
    mark = mark_;
    recorded = recorded || last_ != nullptr;
  }
  if (mark.set) return Capture::await(stream, mark);
  if (!stream.captured()) {
    stream.order();
    return awaitNow(stream.queue());
  }
  if (external) {
    Capture::add(stream, cudaGraphNodeTypeWaitEvent, [this](device::Stream& queue) { awaitNow(queue); });
    return;
  }
  // Captured work is done at each launch; it cannot depend on work that is done only once.
  if (recorded) Capture::forbid(stream, cudaErrorStreamCaptureIsolation);
}

SharedEvent Event::timedRecord() const {
  const std::lock_guard lock(mutex_);
  return timed_ ? last_ : nullptr;
}

IpcName Event::name() const {
  if (counts_ == nullptr || !ours_) throw CudaFailure(cudaErrorInvalidResourceHandle);
  return nameForIpc(counts_.get(), sizeof(Counts), IpcKind::kEvent);
}

}  // namespace xylem::cuda_api
