// host/cuda_runtime_api.h: graphs that a program builds node by node, and its objects in them. Work is captured from
// a stream of its own, so that a node does the same as the call would.

#include <algorithm>
#include <fstream>

#include "runtime/api/boundary.h"
#include "runtime/api/cuda_graph_handles.h"
#include "runtime/api/raw_value.h"

using namespace xylem;
using namespace xylem::api;

struct CUuserObject_st {
  ~CUuserObject_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d6f626aull;  // "xylemobj"
  volatile std::uint64_t magic = kMagic;  // else the store before it is freed may be left out
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  std::atomic<unsigned> references{0};
};

namespace xylem::api {

std::vector<std::size_t> numbersOf(const cuda_api::Graph& graph, const cudaGraphNode_t* nodes,
                                   std::size_t count) {
  if (count > 0) requireResult(nodes);
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    // By address only: a node of another graph may be gone.
    const auto found = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                    [&](const cuda_api::GraphNode& node) { return &node == nodes[i]; });
    if (found == graph.nodes().end()) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
    numbers.push_back(found->number);
  }
  return numbers;
}

}  // namespace xylem::api

namespace {

// Adds a node behind others: in the branch of one that is the last of its branch, or in a new branch.
cudaGraphNode_t addNode(cuda_api::Graph& graph, std::vector<std::size_t> after, cudaGraphNodeType type,
                        std::function<void(device::Stream&)> issue) {
  const int branch = graph.branchAfter(after);
  const std::size_t number =
      graph.add({type, std::move(after), branch, device::currentDevice(), std::move(issue)});
  return &graph.nodes()[number];
}

// Adds the work that `enqueue` puts into a stream.
template <typename Enqueue>
cudaError_t addWork(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* after, size_t count,
                    cudaGraphNodeType type, Enqueue enqueue) {
  return guardedCuda([&] {
    requireResult(node);
    *node = nullptr;
    cuda_api::Graph& graph = requireGraph(handle);
    std::vector<std::size_t> behind = numbersOf(graph, after, count);
    CUstream_st stream(cuda_api::CudaStream::Kind::kNonBlocking, device::currentDevice(), 0);
    cuda_api::Capture::begin(stream.stream, cudaStreamCaptureModeRelaxed);
    if (const cudaError_t result = enqueue(&stream); result != cudaSuccess) return result;
    const std::shared_ptr<cuda_api::Graph> part = cuda_api::Capture::end(stream.stream);
    // Work of no bytes is no node of its own.
    std::function<void(device::Stream&)> issue;
    if (!part->nodes().empty()) issue = part->nodes().front().issue;
    graph.keepAllOf(*part);
    *node = addNode(graph, std::move(behind), type, std::move(issue));
    return cudaSuccess;
  });
}

cudaError_t setValues(const cudaMemsetParams& p, cudaStream_t stream) {
  const size_t size = p.elementSize, width = p.width, height = p.height, pitch = p.pitch;
  if ((size != 1 && size != 2 && size != 4) || (width > 0 && height > 0 && p.dst == nullptr) ||
      reinterpret_cast<std::uintptr_t>(p.dst) % size != 0)
    return cudaErrorInvalidValue;
  if (height > 1 && (pitch < width * size || pitch % size != 0)) return cudaErrorInvalidPitchValue;
  auto* const start = static_cast<std::byte*>(p.dst);
  enqueueOn(requireStream(stream), cudaGraphNodeTypeMemset, [=, value = p.value] {
    for (size_t row = 0; row < height; ++row) {
      std::byte* const to = start + row * pitch;
      if (size == 1)
        std::fill_n(reinterpret_cast<std::uint8_t*>(to), width, static_cast<std::uint8_t>(value));
      else if (size == 2)
        std::fill_n(reinterpret_cast<std::uint16_t*>(to), width, static_cast<std::uint16_t>(value));
      else
        std::fill_n(reinterpret_cast<std::uint32_t*>(to), width, value);
    }
  });
  return cudaSuccess;
}

CUuserObject_st& requireObject(cudaUserObject_t object) {
  if (object == nullptr || object->magic != CUuserObject_st::kMagic)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  return *object;
}

void requireCount(unsigned count) {
  if (count == 0 || count > INT32_MAX) throw cuda_api::CudaFailure(cudaErrorInvalidValue);
}

void release(CUuserObject_st* object, unsigned count) {
  if (object->references.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  const std::unique_ptr<CUuserObject_st> owner(object);
  object->destroy(object->pointer);
}

const char* nameOf(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
      return "kernel";
    case cudaGraphNodeTypeMemcpy:
      return "memcpy";
    case cudaGraphNodeTypeMemset:
      return "memset";
    case cudaGraphNodeTypeHost:
      return "host";
    case cudaGraphNodeTypeGraph:
      return "graph";
    case cudaGraphNodeTypeEmpty:
      return "empty";
    case cudaGraphNodeTypeWaitEvent:
      return "event wait";
    case cudaGraphNodeTypeEventRecord:
      return "event record";
    case cudaGraphNodeTypeMemAlloc:
      return "allocate";
    case cudaGraphNodeTypeMemFree:
      return "free";
  }
  return "";
}

}  // namespace

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* after,
                                  size_t count) {
  return guardedCuda([&] {
    requireResult(node);
    *node = nullptr;
    cuda_api::Graph& graph = requireGraph(handle);
    *node = addNode(graph, numbersOf(graph, after, count), cudaGraphNodeTypeEmpty, nullptr);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                 size_t count, const cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return rememberCuda(cudaErrorInvalidValue);
  return addWork(node, graph, after, count, cudaGraphNodeTypeHost, [&](cudaStream_t stream) {
    return cudaLaunchHostFunc(stream, parameters->fn, parameters->userData);
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return rememberCuda(cudaErrorInvalidValue);
  return addWork(node, graph, after, count, cudaGraphNodeTypeMemset,
                 [&](cudaStream_t stream) { return setValues(*parameters, stream); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemcpy3DParms* parameters) {
  return addWork(node, graph, after, count, cudaGraphNodeTypeMemcpy,
                 [&](cudaStream_t stream) { return cudaMemcpy3DAsync(parameters, stream); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* destination, const void* source, size_t bytes,
                                     cudaMemcpyKind kind) {
  return addWork(node, graph, after, count, cudaGraphNodeTypeMemcpy, [&](cudaStream_t stream) {
    return cudaMemcpyAsync(destination, source, bytes, kind, stream);
  });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child) {
  return addWork(node, graph, after, count, cudaGraphNodeTypeGraph, [&](cudaStream_t stream) {
    // The node has the child as it is now.
    const auto exec = std::make_shared<cuda_api::GraphExec>(requireGraph(child));
    cuda_api::Capture::add(requireStream(stream), cudaGraphNodeTypeGraph,
                           [exec](device::Stream& queue) { exec->launch(queue); });
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* after, size_t count, cudaEvent_t event) {
  return addWork(node, graph, after, count, cudaGraphNodeTypeEventRecord, [&](cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal);
  });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                      size_t count, cudaEvent_t event) {
  return addWork(node, graph, after, count, cudaGraphNodeTypeWaitEvent, [&](cudaStream_t stream) {
    return cudaStreamWaitEvent(stream, event, cudaEventWaitExternal);
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
  return guardedCuda([&] {
    cuda_api::Graph& graph = requireGraph(handle);
    const std::vector<std::size_t> first = numbersOf(graph, from, count),
                                   second = numbersOf(graph, to, count);
    for (std::size_t i = 0; i < count; ++i)
      if (first[i] >= second[i]) {
        remember(ResultCode::kInvalidUsage,
                 "cudaGraphAddDependencies: a node cannot wait for one that was added after it");
        return cudaErrorNotSupported;
      }
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::size_t>& after = graph.nodes()[second[i]].after;
      if (std::find(after.begin(), after.end(), first[i]) != after.end()) return cudaErrorInvalidValue;
      after.insert(std::upper_bound(after.begin(), after.end(), first[i]), first[i]);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  return guardedCuda([&] {
    requireResult(node);
    requireResult(original);
    std::deque<cuda_api::GraphNode>& nodes = requireGraph(clone).nodes();
    const std::size_t number = original->number;
    if (number >= nodes.size() || nodes[number].type != original->type) return cudaErrorInvalidValue;
    *node = &nodes[number];
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char* path, unsigned) {
  return guardedCuda([&] {
    requireResult(path);
    const cuda_api::Graph& graph = requireGraph(handle);
    std::ofstream out(path);
    out << "digraph graph_of_" << graph.nodes().size() << "_nodes {\n";
    for (const cuda_api::GraphNode& node : graph.nodes()) {
      out << "  n" << node.number << " [label=\"" << node.number << " " << nameOf(node.type) << "\"];\n";
      for (const std::size_t earlier : node.after) out << "  n" << earlier << " -> n" << node.number << ";\n";
    }
    out << "}\n";
    out.close();
    return out.good() ? cudaSuccess : cudaErrorOperatingSystem;
  });
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned references, unsigned flags) {
  return guardedCuda([&] {
    requireResult(object);
    *object = nullptr;
    requireCount(references);
    // Programs must say that the function may be called at any time.
    if (destroy == nullptr || flags != cudaUserObjectNoDestructorSync) return cudaErrorInvalidValue;
    auto made = std::make_unique<CUuserObject_st>();
    made->pointer = pointer;
    made->destroy = destroy;
    made->references = references;
    *object = made.release();
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  return guardedCuda([&] {
    requireCount(count);
    requireObject(object).references.fetch_add(count, std::memory_order_relaxed);
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return guardedCuda([&] {
    requireCount(count);
    if (requireObject(object).references.load(std::memory_order_relaxed) < count)
      return cudaErrorInvalidValue;
    release(object, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  return guardedCuda([&] {
    cuda_api::Graph& graph = requireGraph(handle);
    CUuserObject_st& known = requireObject(object);
    requireCount(count);
    if (flags > cudaGraphUserObjectMove) return cudaErrorInvalidValue;
    if (flags != cudaGraphUserObjectMove) known.references.fetch_add(count, std::memory_order_relaxed);
    for (unsigned i = 0; i < count; ++i)
      graph.keep(
          std::shared_ptr<void>(&known, [](void* kept) { release(static_cast<CUuserObject_st*>(kept), 1); }));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t handle, cudaUserObject_t object, unsigned count) {
  return guardedCuda([&] {
    cuda_api::Graph& graph = requireGraph(handle);
    requireCount(count);
    return graph.drop(&requireObject(object), count) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
