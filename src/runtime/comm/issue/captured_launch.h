#pragma once
// A launch of the kernel that was captured into a graph of the program: the kernel with its works, which every replay uses again,
// as long as any graph has it. If it has queues over a network, the driver's thread says when a replay begins, and from then on a task
// carries their steps and watches the kernel as LaunchTask does, until its blocks have reported their ends. Otherwise a ReplayWatch
// looks at it now and then.
//
//   CapturedLaunch captured(launches, gpu, watch, executor.newKernel());
//   executor.fill(work, operations, captured.renew(), Use::kInGraph);    // and capture it, with `captured.beforeReplay()` before it
//   captured.watchReplays();
//   if (captured.isUnused()) ...                                  // every graph with it is gone: it may be taken again
//
// The works keep their place in the graph; the positions in queues are in memory and go on from replay to replay.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/comm/issue/launch_queue.h"
#include "runtime/comm/issue/replay_watch.h"
#include "runtime/comm/issue/stall.h"
#include "runtime/device/host_device.h"
#include "runtime/gpu/kernel_launch.h"

namespace xylem::comm {

class CapturedLaunch {
 public:
  // `launches`: of the communicator; they fail with a replay.
  CapturedLaunch(LaunchQueue& launches, const gpu::GpuContext& gpu, ReplayWatch& watch,
                 std::unique_ptr<gpu::KernelLaunch> kernel);
  // Waits for the replays that are under way. The program makes no others.
  ~CapturedLaunch();
  CapturedLaunch(const CapturedLaunch&) = delete;
  CapturedLaunch& operator=(const CapturedLaunch&) = delete;

  // While it is unused: its kernel, to be filled for another graph.
  gpu::KernelLaunch& renew();
  gpu::KernelLaunch& kernel() { return *kernel_; }
  // Once it is captured.
  void watchReplays();

  // The call that the graph makes before each replay, if any.
  gpu::HostCall beforeReplay();
  // For the ReplayWatch: fails the launches of the communicator if a replay has failed or waits too long, and ends replays if they
  // have failed. It asks the driver nothing.
  enum class Seen { kUnused, kNoWait, kWait };
  Seen look() noexcept;
  // The same if the GPU has failed, which no block reports. It asks the driver.
  void checkHealth() noexcept;
  // The call that the driver makes when every graph with the launch is gone, which may be after this object.
  gpu::HostCall whenUnused();
  bool isUnused() {
    return (isHeld_ == nullptr || !isHeld_->load(std::memory_order_acquire)) && !tasks_.get().pending();
  }

 private:
  class Replay;
  void begin() noexcept;
  // The wait of a replay for a rank, as the flight recorder shows it.
  struct Wait {
    std::optional<int> peer;  // nothing: it does not wait
    std::uint64_t since = 0;  // ticks
  };
  void check(Stall& stall, Wait& wait) noexcept;
  void goOn(Wait& wait) noexcept;

  LaunchQueue& launches_;
  const gpu::GpuContext& gpu_;
  ReplayWatch& watch_;
  Stall stall_;           // as the watch sees it
  Wait wait_;             // the same
  gpu::GpuEvent health_;  // never recorded: asking for it fails if the GPU has failed
  const std::unique_ptr<gpu::KernelLaunch> kernel_;
  std::shared_ptr<std::atomic<bool>> isHeld_;  // by a graph; null: no graph has had it yet
  device::OwnedStream tasks_;                  // declared last: its end waits for the replays
};

}  // namespace xylem::comm
