#pragma once
// A collective that is being prepared: tensors in the form that the communicator takes (dense, of types that
// it knows, in memory that it may use), and the copies to make when it is done.
//
//   Step step(*member, OpType::ALLREDUCE);
//   at::Tensor buffer = step.inOut(tensor, reduction.staged);
//   step.call("ncclAllReduce", [&](ncclComm_t comm, cudaStream_t stream) { ... });
//   return step.issued(...);

#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "torch/membership.h"

namespace xylem::torch {

class Step {
 public:
  // Other threads of the program that prepare a step wait until this one is gone.
  explicit Step(Membership& member) : member_(member), lock_(member.issuing()) {}

  // The buffer to read: the tensor itself, or a copy.
  at::Tensor in(const at::Tensor& tensor, std::optional<at::ScalarType> type = std::nullopt);
  // The buffer to write: the tensor itself, or a buffer that is copied to it at the end.
  at::Tensor out(const at::Tensor& tensor, std::optional<at::ScalarType> type = std::nullopt);
  at::Tensor inOut(const at::Tensor& tensor, std::optional<at::ScalarType> type = std::nullopt);
  // A new buffer for `count` elements.
  at::Tensor scratch(std::int64_t count, at::ScalarType type);
  // Adds something to do when the operation is done, before buffers are copied to the tensors that they stand for.
  void then(std::function<void()> work) { after_.push_back(std::move(work)); }

  // Puts the final actions behind the operation. The result holds their exception, if any, once they are
  // done.
  std::shared_ptr<std::exception_ptr> enqueueRest();
  // All tensors that must live until the end.
  std::vector<at::Tensor>& used() { return used_; }

 private:
  bool direct(const at::Tensor& tensor, std::optional<at::ScalarType> type);
  void copyBack(const at::Tensor& tensor, const at::Tensor& buffer);

  Membership& member_;
  const std::lock_guard<std::mutex> lock_;
  std::vector<at::Tensor> used_;
  std::vector<std::function<void()>> after_, copiesBack_;
};

// Throws unless it is a dense CPU tensor.
void requireUsable(const at::Tensor& tensor);

}  // namespace xylem::torch
