#pragma once
// The operations of one group on one communicator, as a task of the scheduler: waits for its turn among the
// launches and for the streams of its group, then steps its work until that is done. On a GPU the kernel is in the
// program's stream already, and the task watches it.
//
//   LaunchTask& launch = launches.next();
//   launch.take(work);                  // begun or not
//   launches.issue(launch, stream);

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/comm/issue/launch_work.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/stall.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/device/task.h"
#include "runtime/gpu/kernel_launch.h"

namespace xylem::comm {

class LaunchQueue;

class LaunchTask final : public device::Task {
 public:
  explicit LaunchTask(LaunchQueue& launches);

  // The thread that issues calls these:
  void begin(std::uint64_t number);
  // Takes over this work, of which the call may have done a part, and leaves its own former one, with its memory.
  void take(std::unique_ptr<LaunchWork>& work, bool begun = false) {
    work_.swap(work);
    moves_ = begun;
  }
  // On a GPU: watches this kernel, which has been started.
  void take(std::unique_ptr<gpu::KernelLaunch> kernel) { kernel_ = std::move(kernel); }
  // Its former one, which is over, or null.
  std::unique_ptr<gpu::KernelLaunch> leaveKernel() { return std::move(kernel_); }
  // Checked mode: adds a collective that all ranks compare before its data moves, or while it does if a kernel moves it.
  void compare(const CallSignature& call) {
    collectives_.push_back(call);
    compared_ = false;
  }
  // See Task::isBrief().
  void setBrief(bool brief) { brief_ = brief; }
  LaunchRecorder& recorder() { return recorder_; }
  // Makes the launch wait for what is in `stream`, and `stream` for the launch.
  void fence(device::Stream& stream);

  device::Progress step() override;
  void checkStall() override;
  bool isBrief() const override { return brief_; }
  void finish(const Error* error) noexcept override;

  LaunchTask* link = nullptr;  // the next one in a list of the LaunchQueue

 private:
  // Holds back one of the other streams of the group.
  class Fence final : public device::Task {
   public:
    explicit Fence(LaunchTask& launch) : launch_(launch) {}
    device::Progress step() override;
    bool isBrief() const override { return true; }
    void finish(const Error*) noexcept override { launch_.leave(); }

   private:
    friend class LaunchTask;
    LaunchTask& launch_;
    bool arrived_ = false;
  };

  device::Progress stepWork();
  void checkWork();
  device::Progress watchKernel();
  // Tells the profiler which items have begun and ended. `over`: nothing runs any more.
  void observeKernel(bool over);
  void checkKernel();

  // True if it is this launch's turn and all streams of its group have reached it.
  bool mayRun() const;
  bool compareCalls();
  bool compareBesideKernel() noexcept;
  void leave() noexcept;

  LaunchQueue& launches_;
  std::uint64_t number_ = 0;  // among the launches of the communicator
  std::unique_ptr<LaunchWork> work_ = std::make_unique<LaunchWork>();
  std::unique_ptr<gpu::KernelLaunch> kernel_;  // null on host devices
  std::vector<std::unique_ptr<Fence>> fences_;
  int usedFences_ = 0;
  std::atomic<int> awaitedFences_{0};  // streams that have not reached their fence
  std::atomic<bool> over_{false};
  std::atomic<int> users_{0};  // the task and its fences
  bool begun_ = false, brief_ = false;
  bool moves_ = false;  // peers may use the operation's buffers
  Stall stall_;
  LaunchRecorder recorder_;
  // Checked mode:
  std::vector<CallSignature> collectives_;
  bool comparing_ = false, compared_ = true;
  bool kernelIsOver_ = false;
};

}  // namespace xylem::comm
