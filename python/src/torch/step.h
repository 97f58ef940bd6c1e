#pragma once
// A collective in the making: tensors as the communicator takes them (dense, of types that it knows, in
// memory that it may be given), and what is to be copied where when it is done.
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
  // Other threads of the program wait with theirs until this one is gone.
  explicit Step(Membership& member) : member_(member), lock_(member.issuing()) {}

  // What is read: the tensor itself, or a copy.
  at::Tensor in(const at::Tensor& tensor, std::optional<at::ScalarType> type = std::nullopt);
  // What is written: the tensor itself, or a buffer that is copied to it at the end.
  at::Tensor out(const at::Tensor& tensor, std::optional<at::ScalarType> type = std::nullopt);
  at::Tensor inOut(const at::Tensor& tensor, std::optional<at::ScalarType> type = std::nullopt);
  // A new buffer for `count` elements.
  at::Tensor scratch(std::int64_t count, at::ScalarType type);
  // Something to do when the operation is done.
  void then(std::function<void()> work) { after_.push_back(std::move(work)); }

  // Puts what is to be done at the end behind the operation. What it throws will be there.
  std::shared_ptr<std::exception_ptr> enqueueRest();
  // All tensors that must stay until the end.
  std::vector<at::Tensor>& used() { return used_; }

 private:
  bool direct(const at::Tensor& tensor, std::optional<at::ScalarType> type);

  Membership& member_;
  const std::lock_guard<std::mutex> lock_;
  std::vector<at::Tensor> used_;
  std::vector<std::function<void()>> after_;
};

// Throws unless it is a dense CPU tensor.
void requireUsable(const at::Tensor& tensor);

}  // namespace xylem::torch
