#pragma once
// Executes the operations of a rank, the last of the values that joining makes. A group of operations becomes
// one launch: a task in the stream of its first operation. Small operations are executed inside of the call
// instead, without a task, if nothing stands before them in their stream (inline_executor.h).
//
//   Issuer issuer(roster, plan, wiring, request, {watch, stopped, recorder});
//   issuer.launch(operations);
//   issuer.launches().idle()
//
// One thread at a time launches.

#include <optional>
#include <span>

#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/issue/choices.h"
#include "runtime/comm/issue/inline_executor.h"
#include "runtime/comm/issue/launch_queue.h"
#include "runtime/comm/issue/mailboxes.h"
#include "runtime/comm/issue/schedule.h"
#include "runtime/comm/issue/transfers.h"
#include "runtime/comm/join/job_roster.h"
#include "runtime/comm/join/wiring.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/comm/watch/stopped_peers.h"
#include "runtime/plugins/profiler.h"

namespace xylem::comm {

// The objects that watch over the operations of a communicator.
struct Watches {
  PeerWatch& peers;
  StoppedPeers& stopped;
  FlightRecorder& recorder;
};

class Issuer {
 public:
  Issuer(const JobRoster& roster, const CommPlan& plan, Wiring& wiring, const JoinRequest& request,
         const Watches& watches);
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  void launch(std::span<const CommOperation> operations) {
    if (profiling_ != nullptr) [[unlikely]]
      return launchProfiled(operations);
    issue(operations);
  }
  // Whether collectives are exchanges among the ranks of one host (mailboxes.h).
  bool exchanges() const { return mailboxes_.has_value(); }
  // The planner's estimate for the operations, one after the other, in microseconds.
  float predict(std::span<const CommOperation> operations) const;

  LaunchQueue& launches() { return launches_; }
  const LaunchQueue& launches() const { return launches_; }

 private:
  void issue(std::span<const CommOperation> operations);
  void launchProfiled(std::span<const CommOperation> operations);
  plugins::ProfiledCall profiledCall(const CommOperation& operation, int collectives);
  void record(std::span<const CommOperation> operations, LaunchTask& launch);
  void issueBegun(std::span<const CommOperation> operations);
  Scheduling scheduling();

  const int rank_;
  const int ranks_;
  const bool checked_;  // XYLEM_CHECK
  const Wiring& wiring_;
  Choices choices_;
  Transfers transfers_;
  std::optional<Mailboxes> mailboxes_;   // where all ranks are on one host
  std::optional<CallCheck> check_;       // in checked mode
  plugins::Profiling* const profiling_;  // null: there is no profiler
  LaunchQueue launches_;
  std::optional<InlineExecutor> inline_;  // not in checked mode
};

}  // namespace xylem::comm
