#include "runtime/api/repeated_groups.h"

#include <exception>
#include <string>
#include <utility>

#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/captured_calls.h"
#include "runtime/api/group_members.h"

namespace xylem::api {

RepeatedGroups::Known& RepeatedGroups::replaceOne(ncclComm_t comm, cudaStream_t stream) {
  now_ = (now_ + 1) % kMost;
  Known& known = known_[now_];
  known.launched.communicator = nullptr;
  if (known.comm != comm || known.alive.expired()) known.alive = comm->alive;
  known.comm = comm;
  known.stream = stream;
  return known;
}

void RepeatedGroups::note(ncclComm_t comm, cudaStream_t stream) {
  if (noted_++ == 0) replaceOne(comm, stream);
  alike_ = alike_ && comm == known_[now_].comm && stream == known_[now_].stream;
}

void RepeatedGroups::keepAlone(const DataCall& call, const comm::CommOperation& operation) {
  comm::LaunchedGroup& launched = replaceOne(call.comm, call.stream).launched;
  launched.operations.assign(1, operation);
  launched.communicator = call.comm->impl.get();
  launched.work = launched.communicator->lastWork();
}

// Null if communicator or stream are others than before, or the stream is captured now.
cuda_api::CudaStream* RepeatedGroups::streamOfAll(const Known& known) {
  const device::Stream& queue = *known.launched.operations.front().stream;
  cuda_api::CudaStream* const stream = streamOf(known.stream, queue.device());
  const bool isAsBefore =
      !known.alive.expired() && stream != nullptr && &stream->queue() == &queue && !stream->captured();
  return isAsBefore ? stream : nullptr;
}

void RepeatedGroups::launch(Known& known, cuda_api::CudaStream& stream, const char* function) {
  const CommUse use(known.comm, function);
  requireReady(*use, function);
  inCall(function, [&] { stream.order(); });
  comm::launchAgain(known.launched);
}

bool RepeatedGroups::launchesCounted() {
  constexpr const char* kName = "ncclGroupEnd";
  Known& known = known_[now_];
  const bool areAll = counted_ > 0 && counted_ == known.launched.operations.size() && !comm::groupHasFailed();
  cuda_api::CudaStream* const stream = areAll ? streamOfAll(known) : nullptr;
  if (stream == nullptr) {
    addCounted();
    return false;
  }
  counting = nullptr;
  comm::leaveEmptyGroup();
  launch(known, *stream, kName);
  return true;
}

void RepeatedGroups::addCounted() {
  counting = nullptr;
  const Known& known = known_[now_];
  for (std::size_t i = 0; i < counted_; ++i) {
    comm::CommOperation operation = known.launched.operations[i];
    try {
      const std::string function = std::string("nccl") + name(operation.function);
      // Another one may have its address by now.
      if (known.alive.expired())
        throw Error(ResultCode::kInvalidArgument, "{}: comm was destroyed before the group ended", function);
      GroupMembers::addCall(known.comm, function.c_str(), [&](ncclComm& handle) {
        // A stream that was made since may have the handle of one that was destroyed.
        cuda_api::CudaStream& stream = readStream(known.stream, handle.impl->device(), function.c_str());
        operation.stream = &stream.queue();
        note(known.comm, known.stream);
        submitOrCapture(handle, stream, operation, function.c_str());
      });
    } catch (const std::exception& exception) {
      comm::failGroup(asError(exception));
    }
  }
}

}  // namespace xylem::api
