#include "runtime/api/one_sided_calls.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "core/per_thread.h"
#include "runtime/comm/issue/group.h"
#include "runtime/cuda_api/capture.h"
#include "runtime/cuda_api/cuda_error.h"

namespace xylem::api {
namespace {

// Makes the one-sided operations of a communicator, together with its other ranks.
void begin(ncclComm& handle) {
  auto made = std::make_shared<OneSided>(*handle.impl);
  for (const Window& window : windowsOf(handle)) made->publish(window);
  const std::lock_guard lock(handle.oneSidedMutex);
  handle.oneSided = std::move(made);
}

// The ranks of one thread wait for each other, so each gets a thread.
void beginTogether(const std::vector<ncclComm*>& handles) {
  std::vector<std::exception_ptr> errors(handles.size());
  std::vector<std::jthread> threads;  // join, also if not all can be started
  const auto run = [&](std::size_t i) {
    try {
      begin(*handles[i]);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  for (std::size_t i = 1; i < handles.size(); ++i) threads.emplace_back(run, i);
  if (!handles.empty()) run(0);
  threads.clear();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace

OneSidedCalls& OneSidedCalls::ofThread() { return perThread<OneSidedCalls>(); }

void OneSidedCalls::add(ncclComm& handle, cuda_api::CudaStream& stream, Operation operation,
                        const char* function) {
  calls_.push_back({&handle, &stream, std::move(operation), function});
  if (comm::groupDepth() == 0) endGroup();
}

void OneSidedCalls::endGroup() {
  if (calls_.empty()) return;
  std::vector<Call> calls;
  calls.swap(calls_);
  issue(std::move(calls));
}

void OneSidedCalls::issue(std::vector<Call> calls) {
  std::vector<ncclComm*> fresh;
  for (const Call& call : calls)
    if (oneSidedOf(*call.handle) == nullptr &&
        std::find(fresh.begin(), fresh.end(), call.handle) == fresh.end())
      fresh.push_back(call.handle);
  beginTogether(fresh);
  for (Call& call : calls) {
    std::shared_ptr<OneSided> all = oneSidedOf(*call.handle);
    if (!call.stream->captured()) {
      inCall(call.function, [&] { call.stream->order(); });
      std::visit(
          [&](auto& operation) {
            all->enqueue(call.stream->queue(), std::move(operation), OneSided::kDirect);
          },
          call.operation);
      continue;
    }
    try {
      // Each launch of the graph does the operation anew.
      cuda_api::Capture::add(
          *call.stream, cudaGraphNodeTypeKernel,
          [all, operation = std::move(call.operation)](device::Stream& queue) {
            std::visit([&](const auto& each) { all->enqueue(queue, each, OneSided::kCaptured); }, operation);
          });
    } catch (const cuda_api::CudaFailure& failure) {
      throw Error(ResultCode::kInvalidUsage, "{}: the stream cannot be captured: {}", call.function,
                  cuda_api::errorText(failure.error()).text);
    }
  }
}

}  // namespace xylem::api
