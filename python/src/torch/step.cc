#include "torch/step.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <iterator>

#include "torch/shared_allocator.h"

namespace xylem::torch {
namespace {

bool expose(const at::Tensor& tensor) {
  return exposeToPeers(tensor.data_ptr(), tensor.nbytes(), tensor.storage().nbytes());
}

// In a stream, on the thread that runs it.
struct Rest {
  std::vector<std::function<void()>> work;
  std::shared_ptr<std::exception_ptr> outcome;
  bool inference = c10::InferenceMode::is_enabled();  // on the thread that makes the call

  static void run(void* argument) {
    const std::unique_ptr<Rest> rest(static_cast<Rest*>(argument));
    try {
      const c10::InferenceMode mode(rest->inference);  // first: without inference mode it turns gradients on
      const c10::NoGradGuard noGrad;
      for (const auto& piece : rest->work) piece();
    } catch (...) {
      *rest->outcome = std::current_exception();
    }
  }
};

}  // namespace

void requireUsable(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu(), "xylem: a tensor is on ", tensor.device(),
              "; expected one of the CPU");
  TORCH_CHECK(tensor.layout() == at::kStrided, "xylem: a tensor is ", tensor.layout(),
              "; expected a dense one (tensor.to_dense())");
}

bool Step::direct(const at::Tensor& tensor, std::optional<at::ScalarType> type) {
  requireUsable(tensor);
  return (!type || tensor.scalar_type() == *type) && tensor.is_contiguous() && expose(tensor);
}

at::Tensor Step::scratch(std::int64_t count, at::ScalarType type) {
  at::Tensor buffer = at::empty({count}, at::TensorOptions().dtype(type));
  TORCH_INTERNAL_ASSERT(expose(buffer));
  used_.push_back(buffer);
  return buffer;
}

at::Tensor Step::in(const at::Tensor& tensor, std::optional<at::ScalarType> type) {
  if (direct(tensor, type)) {
    used_.push_back(tensor);
    return tensor;
  }
  const c10::NoGradGuard noGrad;
  at::Tensor buffer = scratch(tensor.numel(), type.value_or(tensor.scalar_type()));
  buffer.view(tensor.sizes()).copy_(tensor);
  return buffer;
}

at::Tensor Step::out(const at::Tensor& tensor, std::optional<at::ScalarType> type) {
  used_.push_back(tensor);
  if (direct(tensor, type)) return tensor;
  at::Tensor buffer = scratch(tensor.numel(), type.value_or(tensor.scalar_type()));
  copyBack(tensor, buffer);
  return buffer;
}

at::Tensor Step::inOut(const at::Tensor& tensor, std::optional<at::ScalarType> type) {
  used_.push_back(tensor);
  at::Tensor buffer = in(tensor, type);
  if (!buffer.is_same(tensor)) copyBack(tensor, buffer);
  return buffer;
}

void Step::copyBack(const at::Tensor& tensor, const at::Tensor& buffer) {
  copiesBack_.push_back([tensor, buffer] { tensor.copy_(buffer.view(tensor.sizes())); });
}

std::shared_ptr<std::exception_ptr> Step::enqueueRest() {
  std::move(copiesBack_.begin(), copiesBack_.end(), std::back_inserter(after_));
  copiesBack_.clear();
  if (after_.empty()) return nullptr;
  auto outcome = std::make_shared<std::exception_ptr>();
  auto rest = std::make_unique<Rest>(Rest{std::move(after_), outcome});
  if (cudaLaunchHostFunc(member_.stream(), &Rest::run, rest.get()) != cudaSuccess)
    throw std::runtime_error("xylem: cannot enqueue what follows a collective");
  static_cast<void>(rest.release());
  return outcome;
}

}  // namespace xylem::torch
