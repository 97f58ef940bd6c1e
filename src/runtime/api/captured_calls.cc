#include "runtime/api/captured_calls.h"

#include <algorithm>
#include <memory>

#include "core/per_thread.h"
#include "runtime/api/boundary.h"
#include "runtime/api/group_members.h"
#include "runtime/comm/issue/group.h"
#include "runtime/cuda_api/capture.h"
#include "runtime/cuda_api/cuda_error.h"

namespace xylem::api {
namespace {

// The work of a node, done at each launch. A graph may outlive its communicator; then its launch fails.
class Replay {
 public:
  Replay(ncclComm& handle, std::vector<comm::CommOperation> operations)
      : handle_(&handle), alive_(handle.alive), operations_(std::move(operations)) {}

  void operator()(device::Stream& queue) {
    if (alive_.expired())
      throw Error(ResultCode::kInvalidUsage,
                  "cudaGraphLaunch: the graph has {} on a communicator that was destroyed",
                  name(operations_.front().function));
    const CommUse use(handle_, "cudaGraphLaunch");
    requireReady(*use, "cudaGraphLaunch");
    for (comm::CommOperation& operation : operations_) operation.stream = &queue;
    use->impl->launch(operations_);
  }

 private:
  ncclComm* handle_;
  std::weak_ptr<const void> alive_;
  std::vector<comm::CommOperation> operations_;
};

}  // namespace

CapturedCalls& CapturedCalls::ofThread() { return perThread<CapturedCalls>(); }

bool CapturedCalls::has(const ncclComm& handle) const {
  return std::any_of(batches_.begin(), batches_.end(),
                     [&](const Batch& batch) { return batch.handle == &handle; });
}

void CapturedCalls::add(ncclComm& handle, cuda_api::CudaStream& stream,
                        const comm::CommOperation& operation) {
  if (comm::groupDepth() == 0) return makeNode({&handle, {&stream}, {operation}});
  auto batch = std::find_if(batches_.begin(), batches_.end(),
                            [&](const Batch& known) { return known.handle == &handle; });
  if (batch == batches_.end()) batch = batches_.insert(batches_.end(), Batch{&handle, {}, {}});
  if (std::find(batch->streams.begin(), batch->streams.end(), &stream) == batch->streams.end())
    batch->streams.push_back(&stream);
  batch->operations.push_back(operation);
}

void CapturedCalls::makeNode(Batch batch) {
  try {
    cuda_api::Capture::add(batch.streams, cudaGraphNodeTypeKernel,
                           Replay(*batch.handle, std::move(batch.operations)));
  } catch (const cuda_api::CudaFailure& failure) {
    throw Error(ResultCode::kInvalidUsage,
                "the streams of the calls on a communicator cannot be captured together: {}",
                cuda_api::errorText(failure.error()).text);
  }
}

void CapturedCalls::endGroup() {
  if (batches_.empty()) return;
  std::vector<Batch> batches;
  batches.swap(batches_);
  for (Batch& batch : batches) makeNode(std::move(batch));
}

void submitOrCapture(ncclComm& handle, cuda_api::CudaStream& stream, const comm::CommOperation& operation,
                     const char* function) {
  if (stream.captured() || comm::groupDepth() > 0) {
    CapturedCalls& captured = CapturedCalls::ofThread();
    const bool any = stream.captured() || !captured.empty();
    if (any && GroupMembers::ofThread().uses(handle) && captured.has(handle) != stream.captured())
      throw Error(
          ResultCode::kInvalidUsage,
          "{}: the calls of a group on one communicator are all on streams that are captured, or none",
          function);
    if (stream.captured()) return captured.add(handle, stream, operation);
  }
  inCall(function, [&] { stream.order(); });
  comm::submit(*handle.impl, operation);
}

}  // namespace xylem::api
