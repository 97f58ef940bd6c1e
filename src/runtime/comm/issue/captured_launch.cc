#include "runtime/comm/issue/captured_launch.h"

#include "runtime/comm/issue/stall.h"
#include "runtime/device/scheduler.h"

namespace xylem::comm {

using device::Progress;

// Watches one replay. If the next one begins before this one is seen to be over, both tasks watch that.
class CapturedLaunch::Replay final : public device::Task {
 public:
  Replay(LaunchQueue& launches, gpu::KernelLaunch& kernel)
      : launches_(launches), kernel_(kernel), stall_(launches.stallPolicy()) {}

  Progress step() override {
    if (launches_.failed()) kernel_.giveUp();
    const bool isOver = kernel_.hasReportedEnd();
    const bool moved = kernel_.pump();
    if (!isOver) return moved ? Progress::kAdvanced : Progress::kWouldBlock;
    if (const auto failure = kernel_.failure()) throw Error(*failure);
    return Progress::kDone;
  }
  void checkStall() override { launches_.checkKernel(kernel_, stall_); }
  void finish(const Error* error) noexcept override {
    if (error != nullptr) launches_.fail(*error);
    delete this;
  }

 private:
  LaunchQueue& launches_;
  gpu::KernelLaunch& kernel_;
  Stall stall_;
};

void CapturedLaunch::begin() {
  kernel_->beginReplay();
  device::Scheduler::instance().enqueue(tasks_.get(), *new Replay(launches_, *kernel_));
}

gpu::HostCall CapturedLaunch::beforeReplay() {
  return {[](void* self) { static_cast<CapturedLaunch*>(self)->begin(); }, this};
}

gpu::HostCall CapturedLaunch::whenUnused() {
  using Count = std::shared_ptr<std::atomic<int>>;
  graphs_ = std::make_shared<std::atomic<int>>(1);
  return {[](void* data) {
            const std::unique_ptr<Count> count(static_cast<Count*>(data));
            (*count)->store(0, std::memory_order_release);
          },
          new Count(graphs_)};
}

}  // namespace xylem::comm
