#pragma once
// Executes the work of launches on a GPU: the second executor of programs and transfers beside Executor. The items become lanes of
// one launch of the kernel, a lane for each queue of the launch's work and a second one beside it for the second program of
// an operation. The kernel goes into the program's stream at once; a LaunchTask watches it.
//
//   GpuExecutor executor(gpu, {wiring.channels(), ranks, ranksOnTheGpu}, reach);
//   executor.fill(work, operations, executor.kernel(), Use::kOnce);        // throws before anything is launched
//   executor.start(operations);
//   launchTask.take(executor.exchangeKernel(launchTask.leaveKernel()));
//
// Queues are those of the host, as GpuQueues has them. Over a network the launch's task carries the steps on.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/comm/issue/captured_launch.h"
#include "runtime/comm/issue/gpu_queues.h"
#include "runtime/comm/issue/launch_work.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/device/host_device.h"
#include "runtime/gpu/gpu_context.h"
#include "runtime/gpu/kernel_launch.h"

namespace xylem::comm {

class GpuExecutor {
 public:
  // A part of a collective on one channel is read and written in the ranks' buffers from this many bytes on: with less in slots, the sender
  // need not wait until it is read. Half of a step; other sizes were not tried.
  static constexpr std::size_t kLeastInBuffers = std::size_t{32} << 10;

  struct Job {
    std::span<const ChannelLinks> channels;
    int ranks = 1;       // of the communicator
    int ranksOnGpu = 1;  // their blocks have to fit together
    // Collectives move their data as under Simple, whatever the protocol (Wiring::dataInSlots).
    bool inSlots = false;
  };
  GpuExecutor(const gpu::GpuContext& gpu, const Job& job, GpuQueues::ReachOfRank reach);

  GpuQueues& queues() { return queues_; }
  const gpu::GpuContext& gpu() const { return gpu_; }
  // The stream of the tasks that watch launches.
  device::Stream& tasks() { return tasks_.get(); }

  // Makes lanes of the items, whose connections are ready, and takes all memory that the launch needs. Throws Error (ncclInvalidUsage) if
  // fewer blocks run at the same time than there must be, and for buffers that are not aligned to their elements.
  void fill(LaunchWork& work, std::span<const CommOperation> operations, gpu::KernelLaunch& kernel,
            gpu::KernelLaunch::Use use);
  // Puts the kernel behind what is in the streams of the operations, and behind the kernel before it. The device is entered.
  void start(std::span<const CommOperation> operations);
  // The capture into a graph that the operations' streams belong to; 0: none. Throws Error (ncclInvalidUsage) if some belong to
  // it and others do not.
  std::uint64_t captureOf(std::span<const CommOperation> operations) const;
  // As start(), into the graph: `launch` has the kernel that was filled.
  void capture(CapturedLaunch& launch, std::span<const CommOperation> operations, std::uint64_t capture);
  // The kernel that start() starts.
  gpu::KernelLaunch& kernel() { return *kernel_; }
  // Gives away the kernel that was started. The next one is `over`, or one that was not used yet if that is null.
  std::unique_ptr<gpu::KernelLaunch> exchangeKernel(std::unique_ptr<gpu::KernelLaunch> over);
  // Another one, which takes memory as it needs it.
  std::unique_ptr<gpu::KernelLaunch> newKernel();
  // Ends the blocks of all kernels that wait, also those of replays.
  void giveUp() const { __atomic_store_n(abort(), 1u, __ATOMIC_RELEASE); }

 private:
  std::uint32_t* abort() const { return reinterpret_cast<std::uint32_t*>(abort_.data()); }
  // The ends of a program's queues, which are always the same for it, and the end of a message's queue.
  template <typename QueueSide>
  std::span<const gpu::QueueEnd> endsOf(gpu::KernelLaunch& kernel, int channel,
                                        std::span<QueueSide* const> sides, Protocol protocol);
  template <typename QueueSide>
  std::span<const gpu::QueueEnd> endOf(gpu::KernelLaunch& kernel, const QueueSide& side, Protocol protocol);
  template <typename QueueSide>
  gpu::QueueEnd newEnd(const QueueSide& side, Protocol protocol, bool inSlots);
  // The lanes of the programs of an operation on a channel; negative: none yet.
  struct Lanes {
    int numbers[2] = {-1, -1};
    int& operator[](std::size_t program) { return numbers[program]; }
  };
  // A queue of sends or receives, and its place in the order in which they take turns.
  struct Messages {
    WorkQueue* queue;
    int round, part;
    bool operator<(const Messages& other) const {
      return std::tie(round, part) < std::tie(other.round, other.part);
    }
  };
  void noteMessages(WorkQueue& queue, const TransferPath& path);
  void addAllMessages(gpu::KernelLaunch& kernel, int most, std::span<const CommOperation> operations);
  void addMessages(gpu::KernelLaunch& kernel, std::vector<Messages>& all, int most,
                   std::span<const CommOperation> operations);
  void addPrograms(gpu::KernelLaunch& kernel, Lanes& lanes, WorkItem& item, ProgramPath& path,
                   const CommOperation& operation);
  void addTransfer(gpu::KernelLaunch& kernel, int lane, WorkItem& item, TransferPath& path,
                   const CommOperation& operation);
  // Whether peers may read the operation's buffers where they lie, and write into them, where their queues allow it.
  bool refers(const CommOperation& operation) const {
    return operation.peersReach || !queues_.othersReadBuffers();
  }
  bool offers(const CommOperation& operation) const {
    return operation.peersReach || !queues_.othersWriteBuffers();
  }
  // The work that fill() has been given: its channels and the lanes in which they take turns, and sends and receives; kept for their memory.
  std::vector<WorkQueue*> channels_;
  std::vector<Lanes> lanes_;
  std::vector<Messages> sends_, receives_;

  const gpu::GpuContext& gpu_;
  const int ranks_, ranksOnGpu_;
  const bool inSlots_;
  device::OwnedStream tasks_;
  gpu::GpuMemory abort_;
  gpu::EndedBlocks ended_;
  GpuQueues queues_;
  // Ends of the queues of a list, by channel, and of the queues of messages.
  struct KnownEnds {
    const void* sides;
    Protocol protocol;
    std::vector<gpu::QueueEnd> ends;
  };
  std::vector<std::vector<KnownEnds>> channelEnds_;
  std::map<std::pair<const void*, Protocol>, gpu::QueueEnd> messageEnds_;
  // Made in advance, as the driver may wait for kernels before it takes memory.
  gpu::LaunchMemory memory_;
  std::vector<std::unique_ptr<gpu::KernelLaunch>> spare_;
  std::unique_ptr<gpu::KernelLaunch> kernel_;
  std::uint64_t lastStream_ = 0;  // the number of that of the launch before
  // The launch before in a graph, the number of its stream, and the capture that it belongs to.
  struct Captured {
    gpu::KernelLaunch* launch = nullptr;
    std::uint64_t stream = 0;
    std::uint64_t capture = 0;
  };
  Captured lastCaptured_;
};

}  // namespace xylem::comm
