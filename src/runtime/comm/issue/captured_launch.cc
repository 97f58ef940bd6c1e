#include "runtime/comm/issue/captured_launch.h"

#include <utility>

#include "runtime/comm/watch/record_buffer.h"
#include "runtime/device/scheduler.h"

namespace xylem::comm {

using device::Progress;

// Watches one replay. If the next one begins before this one is seen to be over, both tasks watch that.
class CapturedLaunch::Replay final : public device::Task {
 public:
  explicit Replay(CapturedLaunch& captured)
      : captured_(captured),
        launches_(captured.launches_),
        kernel_(*captured.kernel_),
        stall_(launches_.stallPolicy()) {}

  Progress step() override {
    if (launches_.failed()) kernel_.giveUp();
    const bool isOver = kernel_.isOver();
    const bool moved = kernel_.pump();
    if (!isOver) return moved ? Progress::kAdvanced : Progress::kWouldBlock;
    if (const auto failure = kernel_.failure()) throw Error(*failure);
    return Progress::kDone;
  }
  // A GPU that has failed reports nothing.
  void checkStall() override {
    captured_.health_.isOver();
    captured_.check(stall_, wait_);
  }
  void finish(const Error* error) noexcept override {
    captured_.goOn(wait_);
    if (error != nullptr) launches_.fail(*error);
    delete this;
  }

 private:
  CapturedLaunch& captured_;
  LaunchQueue& launches_;
  gpu::KernelLaunch& kernel_;
  Stall stall_;
  Wait wait_;
};

CapturedLaunch::CapturedLaunch(LaunchQueue& launches, const gpu::GpuContext& gpu, ReplayWatch& watch,
                               std::unique_ptr<gpu::KernelLaunch> kernel)
    : launches_(launches),
      gpu_(gpu),
      watch_(watch),
      stall_(launches.stallPolicy()),
      health_(gpu),
      kernel_(std::move(kernel)),
      tasks_(gpu.device()) {}

CapturedLaunch::~CapturedLaunch() {
  if (!isUnused()) {
    try {
      const gpu::EnteredDevice entered(gpu_);
      gpu_.driver().synchronize();
    } catch (const Error&) {
      // The GPU has failed: nothing runs on it.
    }
  }
  watch_.remove(*this);
}

gpu::KernelLaunch& CapturedLaunch::renew() {
  watch_.remove(*this);
  stall_.reset();
  return *kernel_;
}

void CapturedLaunch::watchReplays() {
  if (!kernel_->hasPumps()) watch_.add(*this);
}

// A graph may be gone as soon as its last replay has failed, so what that has reported is read once more.
CapturedLaunch::Seen CapturedLaunch::look() noexcept {
  const bool isOver = isUnused();
  if (!launches_.failed())
    if (const auto failure = kernel_->failure()) launches_.fail(*failure);
  if (isOver) {
    goOn(wait_);
    return Seen::kUnused;
  }
  check(stall_, wait_);
  if (launches_.failed()) kernel_->giveUp();
  return wait_.peer ? Seen::kWait : Seen::kNoWait;
}

void CapturedLaunch::checkHealth() noexcept {
  if (launches_.failed()) return;
  try {
    health_.isOver();
  } catch (const Error& error) {
    launches_.fail(error);
    kernel_->giveUp();
  }
}

void CapturedLaunch::check(Stall& stall, Wait& wait) noexcept {
  const std::optional<int> peer = launches_.checkKernel(*kernel_, stall);
  if (!peer) return goOn(wait);
  if (wait.peer != peer) wait = {peer, readTicks()};
  launches_.recorder().waitInReplay(*peer, wait.since);
}

void CapturedLaunch::goOn(Wait& wait) noexcept {
  if (std::exchange(wait.peer, std::nullopt)) launches_.recorder().goOnInReplay();
}

// The driver's thread calls it.
void CapturedLaunch::begin() noexcept {
  try {
    kernel_->beginReplay();
    device::Scheduler::instance().enqueue(tasks_.get(), *new Replay(*this));
  } catch (const std::exception& error) {
    launches_.fail(
        Error(ResultCode::kSystemError, "a replay of a graph cannot be watched: {}", error.what()));
  }
}

gpu::HostCall CapturedLaunch::beforeReplay() {
  if (!kernel_->hasPumps()) return {};
  return {[](void* self) { static_cast<CapturedLaunch*>(self)->begin(); }, this};
}

gpu::HostCall CapturedLaunch::whenUnused() {
  using Flag = std::shared_ptr<std::atomic<bool>>;
  isHeld_ = std::make_shared<std::atomic<bool>>(true);
  return {[](void* data) {
            const std::unique_ptr<Flag> isHeld(static_cast<Flag*>(data));
            (*isHeld)->store(false, std::memory_order_release);
          },
          new Flag(isHeld_)};
}

}  // namespace xylem::comm
