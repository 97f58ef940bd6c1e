#pragma once
// A rank that has joined its communicator. Joining is a pipeline of values, each made from those before it:
//
//   JobRoster   who is in the job       job_roster.h
//   CommPlan    what the ranks do       comm_plan.h
//   Wiring      which queues exist      wiring.h
//   Issuer      executes operations     ../issue/issuer.h
//
//   // Throws if a step fails on any rank.
//   JoinedRank joined(std::move(bootstrap), std::move(recorder), request, timer);
//   joined.issuer().launch(operations);
//
// The members stand in the order in which they are made, so no step can reach what a later one makes.

#include <memory>
#include <string_view>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/issue/issuer.h"
#include "runtime/comm/join/comm_plan.h"
#include "runtime/comm/join/job_roster.h"
#include "runtime/comm/join/join_steps.h"
#include "runtime/comm/join/wiring.h"
#include "runtime/comm/watch/flight_recorder.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/comm/watch/stopped_peers.h"
#include "runtime/gpu/gpu_context.h"

namespace xylem::comm {

class JoinedRank {
 public:
  // Joins the ranks that the bootstrap has met; all of them do so at the same time.
  JoinedRank(std::unique_ptr<bootstrap::Bootstrap> bootstrap, std::unique_ptr<FlightRecorder> recorder,
             const JoinRequest& request, InitTimer& timer);
  JoinedRank(const JoinedRank&) = delete;
  JoinedRank& operator=(const JoinedRank&) = delete;

  bootstrap::Bootstrap& bootstrap() { return *bootstrap_; }
  Issuer& issuer() { return issuer_; }
  const Issuer& issuer() const { return issuer_; }
  // The number of the communicator (JobRoster::communicator).
  std::uint64_t number() const { return roster_.communicator; }
  int hosts() const { return roster_.hosts.hosts; }
  // The bus id of this rank's device, as NCCL's log lines show it.
  std::uint64_t busId() const { return plan_.busId; }
  void tellPeers(const Error& error) noexcept { watch_.abort(roster_.rank, error.what()); }

 private:
  const std::unique_ptr<FlightRecorder> recorder_;
  const std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  PeerWatch watch_;
  JoinSteps steps_;
  const std::unique_ptr<const gpu::GpuContext> gpu_;  // null: the device is a host device
  const JobRoster roster_;
  StoppedPeers stopped_;
  const CommPlan plan_;
  CopyChanges changes_;
  Wiring wiring_;
  Issuer issuer_;
};

}  // namespace xylem::comm
