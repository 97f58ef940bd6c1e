#include "runtime/cuda_api/capture.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "runtime/cuda_api/cuda_error.h"

namespace xylem::cuda_api {
namespace {

struct Captures {
  std::mutex mutex;
  std::vector<Capture*> active;
  std::atomic<int> count{0};
  std::uint64_t lastId = 0;
};
// Never destroyed: the streams of threads may end after all other objects.
Captures& captures() {
  static Captures& all = *std::make_unique<Captures>().release();
  return all;
}

thread_local cudaStreamCaptureMode threadMode = cudaStreamCaptureModeGlobal;

}  // namespace

Capture::Capture(CudaStream& origin, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph)
    : origin_(&origin),
      mode_(mode),
      id_(++captures().lastId),
      graph_(std::move(graph)),
      first_(graph_->nodes().size()) {}

void Capture::begin(CudaStream& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph,
                    std::vector<std::size_t> after) {
  if (stream.kind() == CudaStream::Kind::kDefault) throw CudaFailure(cudaErrorStreamCaptureUnsupported);
  Captures& all = captures();
  const std::lock_guard lock(all.mutex);
  if (stream.captured()) throw CudaFailure(cudaErrorIllegalState);
  if (graph == nullptr) graph = std::make_shared<Graph>();
  const auto capture = std::make_shared<Capture>(stream, mode, std::move(graph));
  stream.setCapture(capture, std::move(after));
  capture->streams_.push_back(&stream);
  all.active.push_back(capture.get());
  all.count.store(static_cast<int>(all.active.size()), std::memory_order_release);
}

// The capture of a stream. The caller holds the lock.
Capture& Capture::of(CudaStream& stream) {
  if (stream.capture_ == nullptr) throw CudaFailure(cudaErrorIllegalState);
  return *stream.capture_;
}

std::shared_ptr<Graph> Capture::end(CudaStream& stream) {
  const std::lock_guard lock(captures().mutex);
  Capture& capture = of(stream);
  if (capture.origin_ != &stream) throw CudaFailure(cudaErrorStreamCaptureUnmatched);
  if (capture.mode_ != cudaStreamCaptureModeRelaxed && capture.thread_ != std::this_thread::get_id())
    throw CudaFailure(cudaErrorStreamCaptureWrongThread);
  const std::shared_ptr<Capture> keep = stream.capture_;
  const bool joined = capture.graph_->endsWith(stream.dependencies_, capture.first_);
  capture.finish();
  if (capture.lost_) throw CudaFailure(cudaErrorStreamCaptureInvalidated);
  if (!joined) throw CudaFailure(cudaErrorStreamCaptureUnjoined);
  return capture.graph_;
}

void Capture::finish() {
  for (CudaStream* stream : streams_)
    if (stream != nullptr) stream->setCapture(nullptr, {});
  Captures& all = captures();
  std::erase(all.active, this);
  all.count.store(static_cast<int>(all.active.size()), std::memory_order_release);
}

Capture::State Capture::stateOf(const CudaStream& stream) {
  if (!stream.captured()) return {};
  const std::lock_guard lock(captures().mutex);
  if (stream.capture_ == nullptr) return {};
  const Capture& capture = *stream.capture_;
  if (capture.lost_) return {cudaStreamCaptureStatusInvalidated, capture.id_, nullptr, {}};
  State state{cudaStreamCaptureStatusActive, capture.id_, capture.graph_, {}};
  for (const std::size_t node : stream.dependencies_) state.latest.push_back(&capture.graph_->nodes()[node]);
  return state;
}

int Capture::branchOf(const CudaStream& stream) const {
  return static_cast<int>(std::find(streams_.begin(), streams_.end(), &stream) - streams_.begin());
}

void Capture::add(CudaStream& stream, cudaGraphNodeType type, Issue issue, std::shared_ptr<void> keep) {
  CudaStream* const streams[] = {&stream};
  if (keep != nullptr) {
    const std::lock_guard lock(captures().mutex);
    of(stream).graph_->keep(std::move(keep));
  }
  add(streams, type, std::move(issue));
}

void Capture::add(std::span<CudaStream* const> streams, cudaGraphNodeType type, Issue issue) {
  const std::lock_guard lock(captures().mutex);
  Capture& capture = of(*streams.front());
  std::vector<std::size_t> after;
  for (CudaStream* stream : streams) {
    if (stream->capture_.get() != &capture) {
      capture.lost_ = true;
      if (stream->capture_ == nullptr) throw CudaFailure(cudaErrorStreamCaptureIsolation);
      stream->capture_->lost_ = true;
      throw CudaFailure(cudaErrorStreamCaptureMerge);
    }
    after.insert(after.end(), stream->dependencies_.begin(), stream->dependencies_.end());
  }
  if (capture.lost_) throw CudaFailure(cudaErrorStreamCaptureInvalidated);
  const std::size_t node = capture.graph_->add({type, std::move(after), capture.branchOf(*streams.front()),
                                                streams.front()->device(), std::move(issue)});
  for (CudaStream* stream : streams) stream->dependencies_ = {node};
}

void Capture::setDependencies(CudaStream& stream, std::vector<std::size_t> nodes, bool also) {
  const std::lock_guard lock(captures().mutex);
  if (of(stream).lost_) throw CudaFailure(cudaErrorStreamCaptureInvalidated);
  if (also) nodes.insert(nodes.end(), stream.dependencies_.begin(), stream.dependencies_.end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  stream.dependencies_ = std::move(nodes);
}

Capture::Mark Capture::mark(CudaStream& stream) {
  const std::lock_guard lock(captures().mutex);
  if (of(stream).lost_) throw CudaFailure(cudaErrorStreamCaptureInvalidated);
  return {stream.capture_, stream.dependencies_, true};
}

void Capture::join(CudaStream& stream, std::vector<std::size_t> dependencies) {
  stream.setCapture(shared_from_this(), std::move(dependencies));
  streams_.push_back(&stream);
}

// The cases: a stream of another capture would merge two captures; an event of a capture that is over cannot
// be waited for; a default stream cannot join. Otherwise the stream joins the capture, or gets further
// dependencies in it.
void Capture::await(CudaStream& stream, const Mark& mark) {
  const std::lock_guard lock(captures().mutex);
  const std::shared_ptr<Capture> capture = mark.capture.lock();
  const bool over = capture == nullptr || std::find(captures().active.begin(), captures().active.end(),
                                                    capture.get()) == captures().active.end();
  if (stream.capture_ != nullptr && stream.capture_ != capture) {
    stream.capture_->lost_ = true;
    if (over) throw CudaFailure(cudaErrorStreamCaptureIsolation);
    capture->lost_ = true;
    throw CudaFailure(cudaErrorStreamCaptureMerge);
  }
  if (over) throw CudaFailure(cudaErrorCapturedEvent);
  if (capture->lost_) throw CudaFailure(cudaErrorStreamCaptureInvalidated);
  if (stream.kind() == CudaStream::Kind::kDefault) {
    capture->lost_ = true;
    throw CudaFailure(cudaErrorStreamCaptureImplicit);
  }
  if (stream.capture_ == nullptr) return capture->join(stream, mark.nodes);
  stream.dependencies_.insert(stream.dependencies_.end(), mark.nodes.begin(), mark.nodes.end());
  std::sort(stream.dependencies_.begin(), stream.dependencies_.end());
  const auto rest = std::unique(stream.dependencies_.begin(), stream.dependencies_.end());
  stream.dependencies_.erase(rest, stream.dependencies_.end());
}

void Capture::forbid(CudaStream& stream, cudaError_t error) {
  if (!stream.captured()) return;
  const std::lock_guard lock(captures().mutex);
  if (stream.capture_ == nullptr) return;
  stream.capture_->lost_ = true;
  throw CudaFailure(error);
}

void Capture::forbidUnsafe() {
  Captures& all = captures();
  if (all.count.load(std::memory_order_acquire) == 0 || threadMode == cudaStreamCaptureModeRelaxed) return;
  const std::lock_guard lock(all.mutex);
  // A relaxed capture allows the call, a thread-local one allows it on other threads, a global one forbids it
  // on all threads that are in global mode.
  bool forbidden = false;
  for (Capture* capture : all.active) {
    const bool mine = capture->thread_ == std::this_thread::get_id();
    const bool respected =
        mine ? capture->mode_ != cudaStreamCaptureModeRelaxed
             : capture->mode_ == cudaStreamCaptureModeGlobal && threadMode == cudaStreamCaptureModeGlobal;
    if (!respected) continue;
    capture->lost_ = forbidden = true;
  }
  if (forbidden) throw CudaFailure(cudaErrorStreamCaptureUnsupported);
}

void Capture::forbidWaiting(int device) {
  if (!DeviceStreams::of(device).capturing()) return;
  const std::lock_guard lock(captures().mutex);
  bool forbidden = false;
  for (Capture* capture : captures().active)
    for (const CudaStream* stream : capture->streams_)
      if (stream != nullptr && stream->device() == device) capture->lost_ = forbidden = true;
  if (forbidden) throw CudaFailure(cudaErrorStreamCaptureUnsupported);
}

cudaStreamCaptureMode Capture::exchangeMode(cudaStreamCaptureMode mode) {
  return std::exchange(threadMode, mode);
}

void Capture::invalidateBlocking(int device) {
  const std::lock_guard lock(captures().mutex);
  for (Capture* capture : captures().active)
    for (const CudaStream* stream : capture->streams_)
      if (stream != nullptr && stream->device() == device && stream->kind() == CudaStream::Kind::kBlocking)
        capture->lost_ = true;
}

void Capture::leave(CudaStream& stream) {
  const std::lock_guard lock(captures().mutex);
  const std::shared_ptr<Capture> capture = stream.capture_;
  if (capture == nullptr) return;
  capture->lost_ = true;
  if (capture->origin_ == &stream) return capture->finish();
  std::replace(capture->streams_.begin(), capture->streams_.end(), &stream,
               static_cast<CudaStream*>(nullptr));
  stream.setCapture(nullptr, {});
}

}  // namespace xylem::cuda_api
