#pragma once
// Captures: streams whose work becomes a graph instead of being done.
//
//   Capture::begin(stream, cudaStreamCaptureModeGlobal);
//   if (stream.captured()) Capture::add(stream, cudaGraphNodeTypeMemset, issue);
//   std::shared_ptr<Graph> graph = Capture::end(stream);
//
// Everything here throws CudaFailure for what a capture does not permit. One lock guards all captures of the
// process; calls on streams that are not captured do not take it.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runtime/cuda_api/cuda_stream.h"
#include "runtime/cuda_api/graph.h"
#include "host/cuda_runtime.h"

namespace xylem {

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  using Issue = std::function<void(Stream&)>;

  // Where an event was recorded in a capture.
  struct Mark {
    std::weak_ptr<Capture> capture;
    std::vector<std::size_t> nodes;
    bool set = false;
  };

  struct State {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    std::uint64_t id = 0;
  };

  static void begin(CudaStream& stream, cudaStreamCaptureMode mode);
  static std::shared_ptr<Graph> end(CudaStream& stream);
  static State stateOf(const CudaStream& stream);

  // A node behind all that `stream` depends on; `keep` is kept as long as the graph.
  static void add(CudaStream& stream, cudaGraphNodeType type, Issue issue,
                  std::shared_ptr<void> keep = nullptr);
  // One node for several streams, all of the same capture.
  static void add(std::span<CudaStream* const> streams, cudaGraphNodeType type, Issue issue);

  // An event is recorded in a captured stream.
  static Mark mark(CudaStream& stream);
  // `stream` waits for an event of a capture: it becomes part of it.
  static void await(CudaStream& stream, const Mark& mark);

  // Before a call that waits for `stream`, or that would let it depend on work that is not captured: the
  // capture is lost.
  static void forbid(CudaStream& stream, cudaError_t error);
  // Before one that may disturb captures, such as allocating: those that forbid it are lost.
  static void forbidUnsafe();
  // Before one that waits for all streams of a device.
  static void forbidWaiting(int device);
  // What this thread respects; returns what it was before.
  static cudaStreamCaptureMode exchangeMode(cudaStreamCaptureMode mode);

  // For CudaStream: all captures of blocking streams of a device are lost; a stream is destroyed.
  static void invalidateBlocking(int device);
  static void leave(CudaStream& stream);

  Capture(CudaStream& origin, cudaStreamCaptureMode mode);

 private:
  static Capture& of(CudaStream& stream);
  void join(CudaStream& stream, std::vector<std::size_t> frontier);
  int laneOf(const CudaStream& stream) const;
  void finish();

  const CudaStream* origin_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const std::uint64_t id_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  std::vector<CudaStream*> streams_;  // null for those that were destroyed; their index is their lane
  bool lost_ = false;
};

}  // namespace xylem
