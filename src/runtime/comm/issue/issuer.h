#pragma once
// Executes the operations of a rank, the last of the values that joining makes. A group of operations becomes
// the work of one launch:
//
//  - schedule() makes work items of the operations;
//  - if the group is small and nothing stands before it in its stream, the call itself steps the items for a
//    moment: if the other ranks come at the same time, the group is done when the call returns;
//  - otherwise a task of the stream takes the work over, begun or not.
//
// On a GPU the work becomes a kernel in the program's stream, which a task watches (gpu_executor.h).
//
//   Issuer issuer(roster, plan, wiring, request, {watch, stopped, recorder}, shareGpus(...));
//   issuer.launch(operations);
//   issuer.launches().idle()
//
// One thread at a time launches.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/issue/choice_log.h"
#include "runtime/comm/issue/choices.h"
#include "runtime/comm/issue/gpu_executor.h"
#include "runtime/comm/issue/gpu_sharing.h"
#include "runtime/comm/issue/kept_works.h"
#include "runtime/comm/issue/launch_queue.h"
#include "runtime/comm/issue/launch_work.h"
#include "runtime/comm/issue/mailboxes.h"
#include "runtime/comm/issue/profile.h"
#include "runtime/comm/issue/schedule.h"
#include "runtime/comm/issue/transfers.h"
#include "runtime/comm/join/job_roster.h"
#include "runtime/comm/join/wiring.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/comm/watch/stopped_peers.h"
#include "runtime/device/waiting.h"

namespace xylem::comm {

// The objects that watch over the operations of a communicator.
struct Watches {
  PeerWatch& peers;
  StoppedPeers& stopped;
  FlightRecorder& recorder;
  CopyChanges& copies;
};

class Issuer {
 public:
  Issuer(const JobRoster& roster, const CommPlan& plan, Wiring& wiring, const JoinRequest& request,
         const Watches& watches, SharedGpus gpus);
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  // On a GPU: goes on with connecting what the operations need, and returns whether all of it is there. launch() waits for it,
  // but only for the ranks of other threads.
  bool prepare(std::span<const CommOperation> operations);
  // Whether the operations need connections that are not there yet, and another thread may launch them once they are.
  bool mayConnectLater(std::span<const CommOperation> operations);
  // `again`: lastWork() after a launch of the same operations in the same buffers.
  void launch(std::span<const CommOperation> operations, std::uint64_t again = 0);
  // On a GPU: does what launch() of the same operations does before it starts the kernel, also taking memory. launch() or unstage() comes next.
  void stage(std::span<const CommOperation> operations);
  void unstage() { staged_.reset(); }
  // Stands for the kept work of the last launch; 0: it is not kept.
  std::uint64_t lastWork() const { return works_.number(); }
  // Null on host devices.
  GpuExecutor* gpu() { return gpu_.get(); }
  // Whether all collectives are exchanges among the ranks of one host (mailboxes.h).
  bool exchanges() const { return mailboxes_.has_value() && !onlyNvls_; }
  // The planner's estimate for the operations, one after the other, in microseconds.
  float predict(std::span<const CommOperation> operations) const;

  LaunchQueue& launches() { return launches_; }
  const LaunchQueue& launches() const { return launches_; }

 private:
  // Work that launchOnGpu() starts, of the operations that it is called with.
  struct Staged {
    std::uint64_t capture;     // 0: into no graph
    CapturedLaunch* captured;  // null then
    CallEvents events;
  };
  // Not inlined, so that small operations need no stack for it.
  [[gnu::noinline]] void launchOnGpu(std::span<const CommOperation> operations);
  CapturedLaunch& unusedCapture();
  void addToGraph(std::span<const CommOperation> operations, const Staged& staged);
  void awaitConnections(std::span<const CommOperation> operations);
  const TransferPart* notAgreedOn(std::span<const TransferPart> parts);
  bool comesFirst(std::span<const CommOperation> operations) const;
  bool isSmall(std::span<const CommOperation> operations) const;
  [[gnu::noinline]] void keepWork(std::span<const CommOperation> operations, const GroupBytes& bytes);
  [[gnu::noinline]] GroupBytes makeWork(std::span<const CommOperation> operations);
  CallEvents tellProfiler(std::span<const CommOperation> operations, bool follows = true) {
    return profiling_ == nullptr ? CallEvents() : startEvents(operations, follows);
  }
  [[gnu::noinline]] CallEvents startEvents(std::span<const CommOperation> operations, bool follows);
  bool isBrief(std::span<const CommOperation> operations, const GroupBytes& bytes) const;
  bool queuesAreReady(const CommOperation& first);
  bool queuesAreConnected();
  bool stepNow(std::size_t bytes);
  [[gnu::noinline]] void issue(std::span<const CommOperation> operations, const GroupBytes& bytes,
                               bool begun);
  Scheduling scheduling();
  void record(std::span<const CommOperation> operations, LaunchTask& launch);
  std::uint64_t pathOf(const CommOperation& operation, int collectives);
  plugins::ProfiledCall profiledCall(const CommOperation& operation, int collectives, int channels);

  const int rank_;
  const int ranks_;
  const Logger& log_;
  const bool checked_;          // XYLEM_CHECK: all ranks compare an operation first, so none is done at once
  const bool checksTransfers_;  // and sends tell receives what they send, which kernels do not
  const Wiring& wiring_;
  const bool onlyNvls_;                             // of the collectives only those of NVLS are exchanges
  const std::optional<tuning::TuningModel> model_;  // nothing: that of the plan
  Choices choices_;
  ChoiceLog choiceLog_;
  const collectives::SharedWork shared_;  // of what moves within the host
  Transfers transfers_;
  std::optional<Mailboxes> mailboxes_;   // where all ranks are on one host
  std::optional<CallCheck> check_;       // in checked mode
  plugins::Profiling* const profiling_;  // null: there is no profiler
  std::optional<QueueProfile> profile_;
  FlightRecorder& recorder_;
  const std::chrono::seconds patience_;  // with ranks that have not connected
  const std::unique_ptr<GpuExecutor> gpu_;
  LaunchQueue launches_;
  ReplayWatch replays_;
  std::vector<std::unique_ptr<CapturedLaunch>> captured_;  // on a GPU: those that graphs have, and had
  std::optional<Staged> staged_;
  device::BriefSpin spin_;
  KeptWorks works_;
};

}  // namespace xylem::comm
