#pragma once
// Calls that move data on streams that are captured: they become nodes of a graph, which issues them anew at
// each of its launches.
//
//   CapturedCalls& calls = CapturedCalls::ofThread();
//   calls.add(handle, stream, operation);   // outside of groups a node at once
//   calls.endGroup();                       // one node per communicator for those of the group

#include <vector>

#include "runtime/api/comm_handle.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/cuda_api/cuda_stream.h"

namespace xylem {

class CapturedCalls {
 public:
  static CapturedCalls& ofThread();

  void add(ncclComm& handle, CudaStream& stream, const CommOperation& operation);
  bool empty() const { return batches_.empty(); }
  // Whether the open group has any on this communicator.
  bool has(const ncclComm& handle) const;
  // The outermost group ends: makes nodes of its calls. Throws Error if they cannot be nodes.
  void endGroup();
  void dropGroup() noexcept { batches_.clear(); }

 private:
  struct Batch {
    ncclComm* handle = nullptr;
    std::vector<CudaStream*> streams;
    std::vector<CommOperation> operations;
  };
  static void makeNode(Batch batch);

  std::vector<Batch> batches_;  // of the open group, in the order in which communicators came first
};

}  // namespace xylem
