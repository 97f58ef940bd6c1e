// Functions whose plain names have CUDA 13's arguments, for programs that ask for libcudart.so.13. In libxylem.so these names
// have CUDA 12's. Everything else of that library's comes from libxylem.so. CUDA's documentation declares the functions.

#include <dlfcn.h>

#include "host/cuda_runtime_api.h"

namespace {

constexpr int kVersion = 13000;

// A function of libxylem.so, which the loader has brought along; null if it has none of that name.
void* ofXylem(const char* name) {
  static void* const library = dlopen(XYLEM_LIBRARY_NAME, RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

template <typename... Arguments>
cudaError_t call(const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<cudaError_t (*)(Arguments...)>(ofXylem(name));
  return function == nullptr ? cudaErrorNotSupported : function(arguments...);
}

// Whether all edges are of the usual kind: the later node waits for the whole earlier one.
bool areUsual(const cudaGraphEdgeData* edges, size_t count) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(edges);
  for (size_t i = 0; edges != nullptr && i < count * sizeof *edges; ++i)
    if (bytes[i] != 0) return false;
  return true;
}

}  // namespace

// The functions as CUDA 13 has them: names of the linker, as the header declares CUDA 12's.
#define XYLEM_13(NAME) __asm__(NAME) __attribute__((visibility("default")))

extern "C" {

cudaError_t runtimeVersion13(int* version) XYLEM_13("cudaRuntimeGetVersion");
cudaError_t runtimeVersion13(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = kVersion;
  return cudaSuccess;
}

// A driver is at least as new as the runtimes that run over it.
cudaError_t driverVersion13(int* version) XYLEM_13("cudaDriverGetVersion");
cudaError_t driverVersion13(int* version) { return runtimeVersion13(version); }

cudaError_t advise13(const void* pointer, size_t count, cudaMemoryAdvise advice, cudaMemLocation location)
    XYLEM_13("cudaMemAdvise");
cudaError_t advise13(const void* pointer, size_t count, cudaMemoryAdvise advice, cudaMemLocation location) {
  return call("cudaMemAdvise_v2", pointer, count, advice, location);
}

cudaError_t graphEdges13(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                         cudaGraphEdgeData* edges, size_t* count) XYLEM_13("cudaGraphGetEdges");
cudaError_t graphEdges13(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                         cudaGraphEdgeData* edges, size_t* count) {
  return call("cudaGraphGetEdges_v2", graph, from, to, edges, count);
}

cudaError_t addDependencies13(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                              const cudaGraphEdgeData* edges, size_t count)
    XYLEM_13("cudaGraphAddDependencies");
cudaError_t addDependencies13(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                              const cudaGraphEdgeData* edges, size_t count) {
  return areUsual(edges, count) ? call("cudaGraphAddDependencies", graph, from, to, count)
                                : cudaErrorNotSupported;
}

// The rest for the usual default stream, and for programs whose default stream is one of each thread.
#define XYLEM_STREAM_CALLS(SUFFIX)                                                                          \
  cudaError_t prefetch13##SUFFIX(const void* pointer, size_t count, cudaMemLocation location,               \
                                 unsigned flags, cudaStream_t stream)                                       \
      XYLEM_13("cudaMemPrefetchAsync" #SUFFIX);                                                             \
  cudaError_t prefetch13##SUFFIX(const void* pointer, size_t count, cudaMemLocation location,               \
                                 unsigned flags, cudaStream_t stream) {                                     \
    return call("cudaMemPrefetchAsync_v2" #SUFFIX, pointer, count, location, flags, stream);                \
  }                                                                                                         \
  cudaError_t copyBatch13##SUFFIX(void** to, void** from, size_t* sizes, size_t count,                      \
                                  cudaMemcpyAttributes* attributes, size_t* firsts, size_t attributeCount,  \
                                  cudaStream_t stream) XYLEM_13("cudaMemcpyBatchAsync" #SUFFIX);            \
  cudaError_t copyBatch13##SUFFIX(void** to, void** from, size_t* sizes, size_t count,                      \
                                  cudaMemcpyAttributes* attributes, size_t* firsts, size_t attributeCount,  \
                                  cudaStream_t stream) {                                                    \
    size_t failed = 0;                                                                                      \
    return call("cudaMemcpyBatchAsync" #SUFFIX, to, from, sizes, count, attributes, firsts, attributeCount, \
                &failed, stream);                                                                           \
  }                                                                                                         \
  cudaError_t captureDependencies13##SUFFIX(cudaStream_t stream, cudaGraphNode_t* nodes,                    \
                                            const cudaGraphEdgeData* edges, size_t count, unsigned flags)   \
      XYLEM_13("cudaStreamUpdateCaptureDependencies" #SUFFIX);                                              \
  cudaError_t captureDependencies13##SUFFIX(cudaStream_t stream, cudaGraphNode_t* nodes,                    \
                                            const cudaGraphEdgeData* edges, size_t count, unsigned flags) { \
    if (!areUsual(edges, count)) return cudaErrorNotSupported;                                              \
    return call("cudaStreamUpdateCaptureDependencies" #SUFFIX, stream, nodes, count, flags);                \
  }
XYLEM_STREAM_CALLS()
XYLEM_STREAM_CALLS(_ptsz)
}
