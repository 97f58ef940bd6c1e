#pragma once
// Calls that move data on captured streams: they become nodes of a graph, which issues them anew at each
// launch.
//
//   CapturedCalls& calls = CapturedCalls::ofThread();
//   calls.add(handle, stream, operation);   // a node at once, if no group is open
//   calls.endGroup();                       // one node per communicator for all calls of the group

#include <vector>

#include "runtime/api/comm_handle.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/cuda_api/cuda_stream.h"

namespace xylem::api {

class CapturedCalls {
 public:
  static CapturedCalls& ofThread();

  void add(ncclComm& handle, cuda_api::CudaStream& stream, const comm::CommOperation& operation);
  bool empty() const { return batches_.empty(); }
  // True if the open group has such calls on this communicator.
  bool has(const ncclComm& handle) const;
  // Called when the outermost group ends: makes nodes of its calls. Throws Error if they cannot be captured
  // together.
  void endGroup();
  void dropGroup() noexcept { batches_.clear(); }

 private:
  struct Batch {
    ncclComm* handle = nullptr;
    std::vector<cuda_api::CudaStream*> streams;
    std::vector<comm::CommOperation> operations;
  };
  static void makeNode(Batch batch);

  std::vector<Batch> batches_;  // of the open group: one per communicator, by its first call
};

// Hands an operation on a host device to its group, or to the graph into which its stream is captured. The communicator is in use.
void submitOrCapture(ncclComm& handle, cuda_api::CudaStream& stream, const comm::CommOperation& operation,
                     const char* function);

}  // namespace xylem::api
