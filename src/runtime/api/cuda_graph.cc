// host/cuda_runtime_api.h: capture and graphs.

#include <algorithm>
#include <iterator>

#include "runtime/api/boundary.h"
#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/graph.h"

using namespace xylem;
using namespace xylem::api;

struct CUgraph_st {
  explicit CUgraph_st(std::shared_ptr<cuda_api::Graph> made) : graph(std::move(made)) {}
  ~CUgraph_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d677261ull;  // "xylemgra"
  std::uint64_t magic = kMagic;
  std::shared_ptr<cuda_api::Graph> graph;
};

struct CUgraphExec_st {
  explicit CUgraphExec_st(const cuda_api::Graph& graph)
      : exec(std::make_shared<cuda_api::GraphExec>(graph)) {}
  ~CUgraphExec_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d677865ull;  // "xylemgxe"
  std::uint64_t magic = kMagic;
  std::shared_ptr<cuda_api::GraphExec> exec;
};

namespace {

cuda_api::Graph& requireGraph(cudaGraph_t handle) {
  if (handle == nullptr || handle->magic != CUgraph_st::kMagic)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  return *handle->graph;
}

CUgraphExec_st& requireExec(cudaGraphExec_t handle) {
  if (handle == nullptr || handle->magic != CUgraphExec_st::kMagic)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  return *handle;
}

cudaGraph_t handleOf(std::shared_ptr<cuda_api::Graph> graph) {
  return std::make_unique<CUgraph_st>(std::move(graph)).release();
}

// The answer of a call that lists things: their number if `things` is null, otherwise as many of them as the
// program has space for.
template <typename Thing>
void tell(const std::vector<Thing>& found, Thing* things, size_t* count) {
  if (things == nullptr) {
    *count = found.size();
    return;
  }
  const size_t space = *count;
  std::copy_n(found.begin(), std::min(space, found.size()), things);
  std::fill(things + std::min(space, found.size()), things + space, nullptr);
  *count = std::min(space, found.size());
}

template <typename Wanted>
cudaError_t tellNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count, Wanted&& wanted) {
  return guardedCuda([&] {
    requireResult(count);
    std::vector<cudaGraphNode_t> found;
    for (cuda_api::GraphNode& node : requireGraph(graph).nodes())
      if (wanted(node)) found.push_back(&node);
    tell(found, nodes, count);
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    if (rawValue(mode) < cudaStreamCaptureModeGlobal || rawValue(mode) > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    cuda_api::Capture::begin(stream, mode);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return guardedCuda([&] {
    requireResult(graph);
    *graph = nullptr;
    *graph = handleOf(cuda_api::Capture::end(requireStream(handle)));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, size_t* count) {
  // The results point to these until the thread's next call.
  static thread_local std::unique_ptr<CUgraph_st> captured;
  static thread_local std::vector<cudaGraphNode_t> latest;
  return guardedCuda([&] {
    requireResult(status);
    cuda_api::Capture::State state = cuda_api::Capture::stateOf(requireStream(handle));
    *status = state.status;
    if (id != nullptr) *id = state.id;
    latest = std::move(state.latest);
    captured = state.graph == nullptr ? nullptr : std::make_unique<CUgraph_st>(std::move(state.graph));
    if (graph != nullptr) *graph = captured.get();
    if (nodes != nullptr) *nodes = latest.data();
    if (count != nullptr) *count = latest.size();
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return guardedCuda([&] {
    requireResult(mode);
    if (rawValue(*mode) < cudaStreamCaptureModeGlobal || rawValue(*mode) > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    *mode = cuda_api::Capture::exchangeMode(*mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return guardedCuda([&] {
    requireResult(graph);
    if (flags != 0) return cudaErrorInvalidValue;
    *graph = handleOf(std::make_shared<cuda_api::Graph>());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return guardedCuda([&] {
    requireResult(clone);
    *clone = handleOf(std::make_shared<cuda_api::Graph>(requireGraph(graph)));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return guardedCuda([&] {
    requireGraph(graph);
    const std::unique_ptr<CUgraph_st> owner(graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return tellNodes(graph, nodes, count, [](const cuda_api::GraphNode&) { return true; });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return tellNodes(graph, nodes, count, [](const cuda_api::GraphNode& node) { return node.after.empty(); });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  return guardedCuda([&] {
    requireResult(count);
    std::vector<cudaGraphNode_t> first, second;
    std::deque<cuda_api::GraphNode>& nodes = requireGraph(graph).nodes();
    for (cuda_api::GraphNode& node : nodes)
      for (const std::size_t earlier : node.after) {
        first.push_back(&nodes[earlier]);
        second.push_back(&node);
      }
    size_t space = *count;
    tell(first, from, &space);
    tell(second, to, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return guardedCuda([&] {
    requireResult(type);
    requireResult(node);
    *type = node->type;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  constexpr unsigned long long kFlags =
      cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
      cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;
  return guardedCuda([&] {
    requireResult(exec);
    *exec = nullptr;
    const cuda_api::Graph& known = requireGraph(graph);
    if ((flags & ~kFlags) != 0) return cudaErrorInvalidValue;
    *exec = std::make_unique<CUgraphExec_st>(known).release();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t to) {
  return guardedCuda([&] {
    const std::shared_ptr<cuda_api::GraphExec> exec = requireExec(handle).exec;
    cuda_api::CudaStream& stream = requireStream(to);
    if (stream.captured()) {
      cuda_api::Capture::add(stream, cudaGraphNodeTypeGraph,
                             [exec](device::Stream& queue) { exec->launch(queue); });
      return cudaSuccess;
    }
    stream.order();
    try {
      exec->launch(stream.queue());
    } catch (const Error& error) {
      remember(error.code(), error.what());
      return cudaErrorLaunchFailure;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return guardedCuda([&] {
    requireExec(exec);
    requireStream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return guardedCuda([&] {
    requireExec(exec);
    const std::unique_ptr<CUgraphExec_st> owner(exec);
    return cudaSuccess;
  });
}
