#pragma once
// One-sided calls of the calling thread. The first one on a communicator is made by all its ranks together, which may be
// this thread's: in a group, all wait for its end.
//
//   OneSidedCalls::ofThread().add(handle, stream, OneSided::Put{...}, "ncclPutSignal");
//   OneSidedCalls::ofThread().endGroup();

#include <variant>
#include <vector>

#include "runtime/api/one_sided.h"
#include "runtime/cuda_api/cuda_stream.h"

namespace xylem::api {

class OneSidedCalls {
 public:
  using Operation = std::variant<OneSided::Put, OneSided::Wait>;
  static OneSidedCalls& ofThread();

  // Enqueues the operation at once, if no group is open. Throws Error.
  void add(ncclComm& handle, cuda_api::CudaStream& stream, Operation operation, const char* function);
  // Called when the outermost group ends. Throws Error.
  void endGroup();
  void dropGroup() noexcept { calls_.clear(); }

 private:
  struct Call {
    ncclComm* handle = nullptr;
    cuda_api::CudaStream* stream = nullptr;
    Operation operation;
    const char* function = nullptr;
  };
  static void issue(std::vector<Call> calls);

  std::vector<Call> calls_;  // of the open group
};

}  // namespace xylem::api
