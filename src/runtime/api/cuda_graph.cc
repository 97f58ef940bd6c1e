// host/cuda_runtime_api.h: capture and graphs.

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include "runtime/api/boundary.h"
#include "runtime/api/cuda_graph_handles.h"
#include "runtime/api/raw_value.h"

using namespace xylem;
using namespace xylem::api;

namespace {

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

// The graphs of the program into which streams are captured, with its handles. A capture that is lost leaves its graph
// here, which may be gone by the time another graph has its address.
class GivenGraphs {
 public:
  static GivenGraphs& instance() {
    static GivenGraphs& given = *std::make_unique<GivenGraphs>().release();
    return given;
  }

  void add(const std::shared_ptr<cuda_api::Graph>& graph, cudaGraph_t handle) {
    const std::lock_guard lock(mutex_);
    std::erase_if(given_, [](const auto& entry) { return entry.second.graph.expired(); });
    given_[graph.get()] = {graph, handle};
  }
  // The program's handle, or null if the graph was made by the capture.
  cudaGraph_t take(const std::shared_ptr<cuda_api::Graph>& graph) {
    const std::lock_guard lock(mutex_);
    const auto found = given_.extract(graph.get());
    return !found.empty() && found.mapped().graph.lock() == graph ? found.mapped().handle : nullptr;
  }

 private:
  struct Given {
    std::weak_ptr<cuda_api::Graph> graph;
    cudaGraph_t handle;
  };
  std::mutex mutex_;
  std::map<const cuda_api::Graph*, Given> given_;
};

void requireMode(cudaStreamCaptureMode mode) {
  if (rawValue(mode) < cudaStreamCaptureModeGlobal || rawValue(mode) > cudaStreamCaptureModeRelaxed)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
}

}  // namespace

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph,
                                          const cudaGraphNode_t* nodes, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode mode) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    requireMode(mode);
    const CUgraph_st& given = requireGraphHandle(graph);
    cuda_api::Capture::begin(stream, mode, given.graph, numbersOf(*given.graph, nodes, count));
    GivenGraphs::instance().add(given.graph, graph);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* nodes, size_t count,
                                                unsigned flags) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    if (flags > cudaStreamSetCaptureDependencies) return cudaErrorInvalidValue;
    const cuda_api::Capture::State state = cuda_api::Capture::stateOf(stream);
    if (state.graph == nullptr) return cudaErrorIllegalState;
    cuda_api::Capture::setDependencies(stream, numbersOf(*state.graph, nodes, count),
                                       flags == cudaStreamAddCaptureDependencies);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return guardedCuda([&] {
    cuda_api::CudaStream& stream = requireStream(handle);
    requireMode(mode);
    cuda_api::Capture::begin(stream, mode);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return guardedCuda([&] {
    requireResult(graph);
    *graph = nullptr;
    std::shared_ptr<cuda_api::Graph> captured = cuda_api::Capture::end(requireStream(handle));
    cudaGraph_t const given = GivenGraphs::instance().take(captured);
    *graph = given != nullptr ? given : handleOf(std::move(captured));
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
    requireMode(*mode);
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
    *exec = std::make_unique<CUgraphExec_st>(known, flags).release();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  return guardedCuda([&] {
    requireResult(flags);
    *flags = requireExec(exec).flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return guardedCuda([&] {
    requireResult(info);
    *info = {cudaGraphExecUpdateError, nullptr, nullptr};
    CUgraphExec_st& known = requireExec(handle);
    cuda_api::Graph& wanted = requireGraph(graph);
    const cuda_api::Graph& before = known.exec->graph();
    if (const std::optional<std::size_t> number = wanted.differsFrom(before)) {
      const bool inBoth = *number < wanted.nodes().size() && *number < before.nodes().size();
      info->result = inBoth && wanted.nodes()[*number].type != before.nodes()[*number].type
                         ? cudaGraphExecUpdateErrorNodeTypeChanged
                         : cudaGraphExecUpdateErrorTopologyChanged;
      if (*number < wanted.nodes().size()) info->errorNode = &wanted.nodes()[*number];
      return cudaErrorGraphExecUpdateFailure;
    }
    auto updated = std::make_shared<cuda_api::GraphExec>(wanted);
    updated->follow(*known.exec);
    known.exec = std::move(updated);
    info->result = cudaGraphExecUpdateSuccess;
    return cudaSuccess;
  });
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
