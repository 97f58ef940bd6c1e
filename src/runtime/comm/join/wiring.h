#pragma once
// The queues of a rank, the third of the values that joining makes: its transports, and the connections of
// its collectives to the ranks that the plan puts next to it. Once there is a Wiring, all of them are
// connected.
//
//   Wiring wiring(steps, bootstrap, roster, plan, request, watch);
//   wiring.channels()[0].ring.to[0]->send(...)
//
// Connections for sends and receives, and the mailboxes of a host, are made later, when an operation first
// needs them (transfers.h, mailboxes.h).

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/comm/join/coll_net.h"
#include "runtime/comm/join/comm_plan.h"
#include "runtime/comm/join/copy_changes.h"
#include "runtime/comm/join/links.h"
#include "runtime/comm/join/transports.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/gpu/network_slots.h"
#include "runtime/plugins/profiled_queues.h"

namespace xylem::comm {

// The ring of queues over which ranks compare their calls in checked mode (call_check.h).
class CheckRing {
 public:
  // Starts to connect.
  CheckRing(const CommPlan& plan, const Transports& transports, int rank);

  std::vector<transport::Connection*> connections() const;
  transport::SendEnd& next() { return connections_.front()->sender(0); }
  transport::RecvEnd& previous() { return connections_.back()->receiver(0); }

 private:
  // To the next rank and from the previous one; with two ranks, one connection is both.
  std::vector<std::unique_ptr<transport::Connection>> connections_;
};

// The connections of collectives, by peer.
struct CollectiveConnections {
  std::map<int, std::unique_ptr<transport::Connection>> connections;
  std::map<int, connect::TransportKind> kinds;

  std::map<int, transport::Connection*> byPeer() const;
};

class Wiring {
 public:
  // All ranks do it at the same time. `watch` gets to know every connection before it is used, and `changes` how messages go.
  // `gpu`: null if the device is a host device.
  Wiring(JoinSteps& steps, bootstrap::Bootstrap& bootstrap, const JobRoster& roster, const CommPlan& plan,
         const JoinRequest& request, PeerWatch& watch, CopyChanges& changes, const gpu::GpuContext* gpu);
  Wiring(const Wiring&) = delete;
  Wiring& operator=(const Wiring&) = delete;

  Transports& transports() { return *transports_; }
  const transport::StepBytes& stepBytes() const { return stepBytes_; }
  // The queues of collectives, by channel.
  std::span<const ChannelLinks> channels() const { return links_.channels(); }
  // Null except in checked mode.
  CheckRing* checkRing() { return checkRing_ ? &*checkRing_ : nullptr; }
  // Whether collectives can go through a network that reduces.
  bool hasCollNet() const { return collnet_ != nullptr; }
  // Why they cannot although some ranks have such a network; empty if they can, or no rank has one.
  const std::string& whyNoCollNet() const { return whyNoCollNet_; }
  // On GPUs: whether the queues of collectives carry all protocols in the slots of Simple, as some rank reaches its neighbour
  // over a network, and the ranks beside it move data as it does.
  bool dataInSlots() const { return dataInSlots_; }

  // Tells a profiler about the queues' steps and the progress thread, from now on. Returns null if there is
  // no profiler. The wiring keeps it, as it must outlive the queues.
  plugins::Profiling* observe(std::unique_ptr<plugins::Profiler> profiler);

 private:
  std::optional<plugins::Profiling> profiling_;  // declared first, as it must be destroyed last
  const transport::StepBytes stepBytes_;
  const std::unique_ptr<gpu::NetworkSlots> slots_;  // null: the device is a host device
  const std::unique_ptr<Transports> transports_;
  // To the ranks that send through each other's network devices.
  const std::vector<transport::Connection*> proxies_;
  const CollectiveConnections collectives_;
  bool dataInSlots_ = false;
  std::optional<CheckRing> checkRing_;
  std::unique_ptr<CollNet> collnet_;  // null if the plan has no CollNet, or it does not work
  std::string whyNoCollNet_;
  Links links_;
};

}  // namespace xylem::comm
