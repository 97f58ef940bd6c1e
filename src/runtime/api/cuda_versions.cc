// Functions of the CUDA runtime whose structures or arguments changed from one version to the next. Programs
// compiled with CUDA 12's headers call the names with _v2 and _v3; those compiled with CUDA 13's call the plain
// names and mean the newer form. Where both kinds of program call the plain name, it has CUDA 12's form.

#include "runtime/api/cuda_versions.h"

#include <cstring>

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/raw_value.h"

using namespace xylem;
using namespace xylem::api;

#define XYLEM_CUDA_NAME(NAME) __asm__(NAME) __attribute__((visibility("default")))

extern "C" {
cudaError_t propertiesForCuda13(DeviceProperties13* properties, int device)
    XYLEM_CUDA_NAME("cudaGetDeviceProperties");
cudaError_t captureInfo3(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                         size_t* count) XYLEM_CUDA_NAME("cudaStreamGetCaptureInfo_v3");
cudaError_t captureInfo13(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                          cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                          size_t* count) XYLEM_CUDA_NAME("cudaStreamGetCaptureInfo");
cudaError_t elapsedTime2(float* milliseconds, cudaEvent_t start, cudaEvent_t end)
    XYLEM_CUDA_NAME("cudaEventElapsedTime_v2");
}

namespace {

// The device that a location means, as the older functions take it.
int deviceOf(const cudaMemLocation& location) {
  return rawValue(location.type) == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId;
}

}  // namespace

namespace xylem::api {

DeviceProperties13 asOfCuda13(const cudaDeviceProp& from) {
  DeviceProperties13 to{};
#define XYLEM_COPY(TYPE, NAME, LENGTH)               \
  static_assert(sizeof to.NAME == sizeof from.NAME); \
  std::memcpy(&to.NAME, &from.NAME, sizeof to.NAME);
  XYLEM_DEVICE_PROPERTIES_13(XYLEM_COPY)
#undef XYLEM_COPY
  return to;
}

}  // namespace xylem::api

cudaError_t propertiesForCuda13(DeviceProperties13* properties, int device) {
  return guardedCuda([&] {
    requireResult(properties);
    cudaDeviceProp all;
    const cudaError_t result = cudaGetDeviceProperties(&all, device);
    if (result == cudaSuccess) *properties = asOfCuda13(all);
    return result;
  });
}

cudaError_t captureInfo3(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                         size_t* count) {
  // All edges are of the usual kind: the later node waits for the whole earlier one.
  if (edges != nullptr) *edges = nullptr;
  return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, count);
}
cudaError_t captureInfo13(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                          cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                          size_t* count) {
  return captureInfo3(stream, status, id, graph, nodes, edges, count);
}

cudaError_t elapsedTime2(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}

cudaError_t cudaMemAdvise_v2(const void* pointer, size_t count, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
  return cudaMemAdvise(pointer, count, advice, deviceOf(location));
}

cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t count, cudaMemLocation location,
                                    unsigned flags, cudaStream_t stream) {
  if (flags != 0) return rememberCuda(cudaErrorInvalidValue);
  return cudaMemPrefetchAsync(pointer, count, deviceOf(location), stream);
}

cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                 cudaGraphEdgeData* edges, size_t* count) {
  const size_t space = count == nullptr ? 0 : *count;
  const cudaError_t result = cudaGraphGetEdges(graph, from, to, count);
  if (result == cudaSuccess && edges != nullptr) std::memset(edges, 0, space * sizeof *edges);
  return result;
}
