#pragma once
// Captures: streams whose work becomes nodes of a graph instead of being done.
//
//   Capture::begin(stream, cudaStreamCaptureModeGlobal);
//   if (stream.captured()) Capture::add(stream, cudaGraphNodeTypeMemset, issue);
//   std::shared_ptr<Graph> graph = Capture::end(stream);
//
// A capture starts with one stream; others join it when they wait for an event of it. The nodes of one stream
// are a branch of the graph. All functions throw CudaFailure for what a capture does not permit. One lock
// guards all captures of the process; calls on streams that are not captured do not take it.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "host/cuda_runtime.h"
#include "runtime/cuda_api/cuda_stream.h"
#include "runtime/cuda_api/graph.h"

namespace xylem::cuda_api {

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  using Issue = std::function<void(device::Stream&)>;

  // The point in a capture at which an event was recorded.
  struct Mark {
    std::weak_ptr<Capture> capture;
    std::vector<std::size_t> nodes;
    bool set = false;
  };

  struct State {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    std::uint64_t id = 0;
    std::shared_ptr<Graph> graph;         // null unless the capture is active
    std::vector<cudaGraphNode_t> latest;  // the nodes on which the stream's next one depends
  };

  // Captures into a graph of its own, or into `graph`, behind the nodes `after`.
  static void begin(CudaStream& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph = nullptr,
                    std::vector<std::size_t> after = {});
  static std::shared_ptr<Graph> end(CudaStream& stream);
  static State stateOf(const CudaStream& stream);

  // Adds a node that depends on the latest nodes of `stream`. `keep` lives as long as the graph.
  static void add(CudaStream& stream, cudaGraphNodeType type, Issue issue,
                  std::shared_ptr<void> keep = nullptr);
  // Adds one node for several streams, all of the same capture.
  static void add(std::span<CudaStream* const> streams, cudaGraphNodeType type, Issue issue);

  // The next node of the captured `stream` depends on `nodes`, and with `also` on those on which it would.
  static void setDependencies(CudaStream& stream, std::vector<std::size_t> nodes, bool also);

  // Records an event in a captured stream.
  static Mark mark(CudaStream& stream);
  // Makes `stream` wait for an event of a capture, and so a part of the capture.
  static void await(CudaStream& stream, const Mark& mark);

  // Called before a call that waits for `stream`, or would make it depend on work that is not captured. If
  // `stream` is captured, the capture is lost, and this throws `error`.
  static void forbid(CudaStream& stream, cudaError_t error);
  // Called before a call that may disturb captures, such as allocating: captures that forbid it are lost.
  static void forbidUnsafe();
  // Called before a call that waits for all streams of a device.
  static void forbidWaiting(int device);
  // Sets which captures this thread's calls respect, and returns the mode before.
  static cudaStreamCaptureMode exchangeMode(cudaStreamCaptureMode mode);

  // For CudaStream: loses all captures of blocking streams of a device; takes a stream that is destroyed out
  // of its capture.
  static void invalidateBlocking(int device);
  static void leave(CudaStream& stream);

  Capture(CudaStream& origin, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph);

 private:
  static Capture& of(CudaStream& stream);
  void join(CudaStream& stream, std::vector<std::size_t> dependencies);
  int branchOf(const CudaStream& stream) const;
  void finish();

  const CudaStream* origin_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const std::uint64_t id_;
  const std::shared_ptr<Graph> graph_;
  const std::size_t first_;           // the number of the first node that is captured
  std::vector<CudaStream*> streams_;  // by branch; null for streams that were destroyed
  bool lost_ = false;
};

}  // namespace xylem::cuda_api
