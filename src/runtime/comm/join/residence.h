#pragma once
// What a rank has once it has joined: its plan, its connections and its operations. Made in NCCL's order,
// step by step, each visible in the log and timed.
//
//   Residence residence(bootstrap, membership, network, settings, log);
//   residence.launch(operations);

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/issue/boards.h"
#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/issue/check_links.h"
#include "runtime/comm/issue/choices.h"
#include "runtime/comm/issue/coll_net.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/join/init_timer.h"
#include "runtime/comm/join/job_plan.h"
#include "runtime/comm/issue/launches.h"
#include "runtime/comm/issue/links.h"
#include "runtime/comm/join/networks.h"
#include "runtime/comm/issue/quick_calls.h"
#include "runtime/comm/issue/schedule.h"
#include "runtime/comm/issue/transfers.h"
#include "runtime/comm/join/transports.h"
#include "planner/connect/net_choice.h"
#include "runtime/plugins/profiled_engine.h"
#include "runtime/plugins/profiled_queue.h"
#include "runtime/plugins/profiler.h"

namespace xylem {

class Residence {
 public:
  // Joins the others that the bootstrap has met; throws if it fails on any rank.
  Residence(std::unique_ptr<Bootstrap> bootstrap, const Membership& membership, const CommConfig& config,
            const NetworkChoice& network, const Settings& settings, const std::shared_ptr<const Logger>& log,
            InitTimer& timer);
  ~Residence();
  Residence(const Residence&) = delete;
  Residence& operator=(const Residence&) = delete;

  void launch(std::span<const CommOperation> operations) {
    if (profiler_) [[unlikely]]
      return launchProfiled(operations);
    issue(operations);
  }
  // Whether collectives are exchanges among the ranks of one host.
  bool exchanges() const { return boards_.has_value(); }
  float predict(std::span<const CommOperation> operations) const;

  Bootstrap& bootstrap() { return *bootstrap_; }
  Launches& launches() { return *launches_; }
  const Launches& launches() const { return *launches_; }
  std::uint64_t busId() const { return hosts_.busId; }
  void tellPeers(const Error& error) noexcept { watch_.abort(rank_, error.what()); }

 private:
  void meet(const Settings& settings, const Membership& membership, const NetworkChoice& network);
  void plan(const Settings& settings);
  void openTransports(const NetworkChoice& network, const Settings& settings);
  void connect(const NetworkChoice& network, const Settings& settings);
  void connectCollNet(const NetworkChoice& network, const Settings& settings);
  void makeConnections();
  void issue(std::span<const CommOperation> operations);
  void launchProfiled(std::span<const CommOperation> operations);
  ProfiledCall profiledCall(const CommOperation& operation, int collectives);
  void record(std::span<const CommOperation> operations, Launch& launch);
  void goOn(std::span<const CommOperation> operations);
  Scheduling scheduling();
  const HostCores& hostCores() const {
    return cores_[static_cast<std::size_t>(hosts_.neighbourhood.hostOfRank[static_cast<std::size_t>(rank_)])];
  }
  int channelsToUse(const Settings& settings, const CommConfig& config) const;

  const int rank_;
  const int ranks_;
  const std::shared_ptr<const Logger> sharedLog_;  // which plugins keep
  const Logger& log_;
  InitTimer& timer_;
  const void* const comm_;  // in the log
  std::unique_ptr<Bootstrap> bootstrap_;
  std::vector<PeerInfo> peers_;
  JobHosts hosts_;
  std::vector<HostCores> cores_;  // by host
  Plan plan_;
  std::optional<NetChoice> netChoice_;
  int channels_ = 1;  // that collectives use
  LinkScope scope_;
  LinkPlan wanted_;
  StepBytes stepBytes_{};
  PeerWatch watch_;
  std::optional<StoppedPeers> stopped_;
  // Outlives the queues whose steps it is told of; null: there is none.
  std::unique_ptr<Profiler> profiler_;
  std::optional<ProfiledEngine> profiledEngine_;
  std::optional<ProfiledQueues> profiledQueues_;
  std::unique_ptr<Transports> transports_;
  std::map<int, std::unique_ptr<Connection>> connections_;  // of collectives, by peer
  std::map<int, TransportKind> kinds_;                      // of these
  std::optional<CollNet> collnet_;                          // nothing where it does not work
  Links links_;
  std::optional<Choices> choices_;
  std::optional<Transfers> transfers_;
  std::optional<Boards> boards_;  // where all ranks are on one host
  std::optional<FlightRecorder> recorder_;
  bool checked_ = false;  // any rank has XYLEM_CHECK
  std::optional<CheckLinks> checkLinks_;
  std::optional<CallCheck> check_;
  std::unique_ptr<Launches> launches_;
  std::optional<QuickCalls> quick_;
};

}  // namespace xylem
