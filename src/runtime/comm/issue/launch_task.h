#pragma once
// The operations of one group on one communicator, as a task of the scheduler. Its work items lie in queues
// that advance independently of each other; the items of one queue run in order. A collective puts one item
// into the queue of each of its channels. A send or receive has queues of its own, so that no pattern of them
// can block itself.
//
//   LaunchTask& launch = launches.next();
//   WorkItem& work = launch.add(launch.channelQueue(0));
//   ... fill in `work` ...
//   launches.issue(launch, stream);

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/collectives/program_executor.h"
#include "runtime/comm/issue/mailboxes.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/transfers.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/device/task.h"
#include "runtime/transport/transport.h"

namespace xylem::comm {

class LaunchQueue;

// A part of an operation: one or two programs of a collective that run side by side, an exchange among the
// ranks of a host, or a transfer of a send or receive.
struct WorkItem {
  Function function = Function::kAllReduce;
  int programs = 1;
  std::array<collectives::ProgramWork, 2> program;
  std::size_t scratchBytes = 0;
  // Where the scalar of a scaled sum is read when the item starts; null: it is in the reduction already.
  const std::byte* scalarAddress = nullptr;
  std::size_t scalarBytes = 0;
  // An exchange among the ranks of a host: no programs.
  Mailboxes* mailboxes = nullptr;
  collectives::DirectWork exchange;
  // An exchange of many collectives at once: the index and number of them in the queue's batch; 0: one
  // collective.
  std::size_t firstOfBatch = 0, batched = 0;
  // A send or receive; its connection may still be in the making.
  TransferPart transfer;
  // In checked mode the first part of a send carries what is sent, and its receive compares that.
  bool checked = false;
  CallSignature call;
  // A profiler's event of the call; null: the profiler does not follow it.
  void* event = nullptr;
  int channel = 0;
};

class LaunchTask final : public device::Task {
 public:
  explicit LaunchTask(LaunchQueue& launches) : launches_(launches) {}

  // The thread that issues calls these:
  void begin(std::uint64_t number);
  int newQueue();
  // The queue of a channel of collectives.
  int channelQueue(int channel) { return queueFor(queueOfChannel_, static_cast<std::size_t>(channel)); }
  // The queue of transfers that share a TransferPart::key.
  int transferQueue(std::size_t key) { return queueFor(queueOfTransfer_, key); }
  WorkItem& add(int queue);
  // Adds a collective to those that the queue's next item does at once; the caller fills it in.
  collectives::DirectWork& addToBatch(int queue);
  // Checked mode: adds a collective that all ranks compare before its data moves.
  void compare(const CallSignature& call) {
    collectives_.push_back(call);
    compared_ = false;
  }
  LaunchRecorder& recorder() { return recorder_; }
  // Goes on with an exchange that has been started, the launch's only item.
  void adopt(const LaunchRecorder& recorder);
  // Goes on with these transfers, which are all its items: one in each queue, in the order of queues.
  void adopt(const LaunchRecorder& recorder, std::span<const collectives::Transfer> transfers);
  // Makes the launch wait for what is in `stream`, and `stream` for the launch.
  void fence(device::Stream& stream);

  device::Progress step() override;
  void checkStall() override;
  void finish(const Error* error) noexcept override;

  LaunchTask* link = nullptr;  // the next one in a list of the LaunchQueue

 private:
  using Clock = std::chrono::steady_clock;

  // Holds back one of the other streams of the group.
  class Fence final : public device::Task {
   public:
    explicit Fence(LaunchTask& launch) : launch_(launch) {}
    device::Progress step() override;
    void finish(const Error*) noexcept override { launch_.leave(); }

   private:
    friend class LaunchTask;
    LaunchTask& launch_;
    bool arrived_ = false;
  };

  // Items that run one after the other, and the state of the current one. Memory is kept for later launches.
  struct WorkQueue {
    std::vector<WorkItem> items;
    std::size_t used = 0;     // of `items`
    std::size_t current = 0;  // index of the item that runs
    bool started = false;     // that item
    // Programs:
    std::array<collectives::ProgramExecutor, 2> executors;
    std::array<bool, 2> done{};
    std::vector<std::byte> scratch;
    // Exchanges:
    std::vector<collectives::DirectWork> batch;
    std::size_t usedBatch = 0;  // of `batch`
    bool atOnce = false;        // the item's batch is one exchange; otherwise `inBatch` is the next of it
    std::size_t inBatch = 0;
    // Transfers:
    collectives::Transfer transfer;
    CallWords told{};  // checked mode: the sender's call
  };

  int queueFor(std::vector<int>& queues, std::size_t key);

  // Each steps the current item and sets `advanced` if anything moved. They return true once it is done.
  bool stepQueue(WorkQueue& queue, bool& advanced);  // the whole queue
  bool stepTransfer(WorkQueue& queue, bool& advanced);
  bool stepPrograms(WorkQueue& queue, bool& advanced);
  bool stepExchange(WorkQueue& queue, bool& advanced);

  // Each returns false if the current item has to wait before it can start.
  bool startItem(WorkQueue& queue);
  bool startExchange(WorkQueue& queue);
  bool startTransfer(WorkQueue& queue);
  bool startPrograms(WorkQueue& queue);
  static void startNextOfBatch(WorkQueue& queue);
  void profileStart(const WorkItem& work);
  void profileEnd(const WorkItem& work);

  // Stalls:
  int waitsFor(const WorkQueue& queue) const;
  void checkPeers();
  void checkPatience(const WorkQueue& queue, int peer);
  void timeOut(int peer, const char* what, Clock::duration waited) const;

  // Checked mode:
  void compareCalls(bool& advanced);
  bool compareTransfer(WorkQueue& queue, const WorkItem& work, const collectives::TransferWork& ends) const;
  bool awaitCalls();

  void leave() noexcept;

  LaunchQueue& launches_;
  std::uint64_t number_ = 0;  // among the launches of the communicator
  std::vector<std::unique_ptr<WorkQueue>> queues_;
  std::size_t usedQueues_ = 0;
  std::vector<int> queueOfChannel_;
  std::vector<int> queueOfTransfer_;
  std::vector<WorkQueue*> open_;  // queues that are not through
  std::vector<std::unique_ptr<Fence>> fences_;
  int usedFences_ = 0;
  std::atomic<int> awaitedFences_{0};  // streams that have not reached their fence
  std::atomic<bool> over_{false};
  std::atomic<int> users_{0};  // the task and its fences
  bool begun_ = false;
  // While nothing advances:
  bool stalled_ = false;
  Clock::time_point stallStart_{};
  bool sawPeerEnd_ = false;  // the awaited peer is gone; what it left in the queues was looked at since
  bool warned_ = false;
  bool asked_ = false;  // peers were asked whether they are at work
  LaunchRecorder recorder_;
  // Checked mode:
  std::vector<CallSignature> collectives_;
  bool comparing_ = false, compared_ = true;
  std::optional<Error> news_;  // a peer gave up while calls were compared
};

}  // namespace xylem::comm
