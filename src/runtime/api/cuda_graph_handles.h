#pragma once
// The objects to which cudaGraph_t and cudaGraphExec_t point.
//
//   cuda_api::Graph& graph = requireGraph(handle);      // throws CudaFailure if it is not a graph
//
// A magic number, which is cleared at the end, tells an object from a pointer to something else.

#include <cstdint>
#include <memory>

#include "runtime/api/cuda_boundary.h"
#include "runtime/cuda_api/graph.h"

struct CUgraph_st {
  explicit CUgraph_st(std::shared_ptr<xylem::cuda_api::Graph> made) : graph(std::move(made)) {}
  ~CUgraph_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d677261ull;  // "xylemgra"
  volatile std::uint64_t magic = kMagic;  // else the store before it is freed may be left out
  std::shared_ptr<xylem::cuda_api::Graph> graph;
};

struct CUgraphExec_st {
  CUgraphExec_st(const xylem::cuda_api::Graph& graph, unsigned long long asked)
      : exec(std::make_shared<xylem::cuda_api::GraphExec>(graph)), flags(asked) {}
  ~CUgraphExec_st() { magic = 0; }

  static constexpr std::uint64_t kMagic = 0x78796c656d677865ull;  // "xylemgxe"
  volatile std::uint64_t magic = kMagic;  // else the store before it is freed may be left out
  std::shared_ptr<xylem::cuda_api::GraphExec> exec;
  const unsigned long long flags;
};

namespace xylem::api {

inline CUgraph_st& requireGraphHandle(cudaGraph_t handle) {
  if (handle == nullptr || handle->magic != CUgraph_st::kMagic)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  return *handle;
}
inline cuda_api::Graph& requireGraph(cudaGraph_t handle) { return *requireGraphHandle(handle).graph; }

inline CUgraphExec_st& requireExec(cudaGraphExec_t handle) {
  if (handle == nullptr || handle->magic != CUgraphExec_st::kMagic)
    throw cuda_api::CudaFailure(cudaErrorInvalidValue);
  return *handle;
}

// The numbers of nodes of a graph. Throws CudaFailure if one is not of this graph.
std::vector<std::size_t> numbersOf(const cuda_api::Graph& graph, const cudaGraphNode_t* nodes,
                                   std::size_t count);

}  // namespace xylem::api
