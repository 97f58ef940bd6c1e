#include "runtime/comm/join/wiring.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/number_ranges.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/join/join_log.h"
#include "runtime/comm/join/proxies.h"

namespace xylem::comm {
namespace {

std::chrono::seconds timeoutOf(const Settings& settings) {
  return std::chrono::seconds(settings.integer(Setting::kTimeout));
}

// The second all-gather of joining: where each rank can be called, and whether all ranks mean to do the same.
std::unique_ptr<Transports> openTransports(bootstrap::Bootstrap& bootstrap, const JobRoster& roster,
                                           const CommPlan& plan, const JoinRequest& request,
                                           CopyChanges& changes, transport::DeviceMemory* device) {
  std::unique_ptr<transport::Network> network =
      request.network.make({bootstrap.secret(), request.config.trafficClass}, request.settings, *request.log);
  struct Ready {
    transport::Peer peer;
    NetworkName network{};
    std::uint64_t plan = 0;
  };
  Ready mine{roster.self().peer, request.network.name(), hashOf(plan.plan)};
  auto transports = std::make_unique<Transports>(
      TransportBasics{roster.rank, bootstrap.secret(), roster.bufferBytes(), bootstrap.interface(),
                      plan.copies.choices, changes.teller(), device},
      std::move(network), request.settings, request.log);
  transports->announce(mine.peer);
  std::vector<transport::Peer> peers;
  std::vector<NetworkName> networks;
  std::vector<std::uint64_t> plans;
  for (const Ready& ready : bootstrap.allGather(mine, "the exchange of transport addresses")) {
    peers.push_back(ready.peer);
    networks.push_back(ready.network);
    plans.push_back(ready.plan);
  }
  checkSameNetwork(networks);
  checkSamePlan(plans);
  transports->know(std::move(peers));
  return transports;
}

// Starts to connect to every neighbour in the plan; the peers start theirs.
CollectiveConnections openConnections(const Transports& transports, const CommPlan& plan, int rank,
                                      const Logger& log) {
  CollectiveConnections made;
  for (const auto& [peer, channels] : plan.links) {
    const ChosenTransport chosen = transports.chooseFor(peer, plannedTransport(plan.choice, rank, peer));
    if (!chosen.reason.empty())
      log.info(Subsystem::kInit, "rank {} to rank {}: {} instead: {}", rank, peer, connect::name(chosen.kind),
               chosen.reason);
    transport::ConnectionRequest request{
        .peer = peer, .purpose = transport::kForCollectives, .sends = {}, .receives = {}};
    for (const int queue : channels.sends)
      request.sends.push_back(
          collectiveNic(plan.choice, plan.plan, rank, channelOf(queue), peer, paths::Direction::kSend));
    for (const int queue : channels.receives)
      request.receives.push_back(
          collectiveNic(plan.choice, plan.plan, rank, channelOf(queue), peer, paths::Direction::kReceive));
    made.connections[peer] = transports.open(chosen, request);
    made.kinds[peer] = chosen.kind;
  }
  return made;
}

// Whether any rank's collectives lead over a network, of a communicator with ranks on GPUs. A block moves the data of all
// its queues in one way; a host device asks each queue.
bool leadsOverNetwork(bootstrap::Bootstrap& bootstrap, const JobRoster& roster,
                      const CollectiveConnections& connections) {
  std::vector<int> gpus, hosts;
  for (const PeerInfo& peer : roster.peers) (peer.peer.gpu != 0 ? gpus : hosts).push_back(peer.peer.rank);
  if (gpus.empty()) return false;
  const auto& kinds = connections.kinds;
  const std::uint8_t mine = std::any_of(kinds.begin(), kinds.end(), [](const auto& kind) {
    return kind.second == connect::TransportKind::kNet;
  });
  const auto all = bootstrap.allGather(mine, "the exchange of what leads over networks");
  if (std::none_of(all.begin(), all.end(), [](std::uint8_t rank) { return rank != 0; })) return false;
  if (!hosts.empty())
    throw Error(ResultCode::kInvalidUsage,
                "{} use GPUs and {} host devices: over a network all ranks need devices of one kind; "
                "XYLEM_DEVICE says which",
                rankRanges(gpus), rankRanges(hosts));
  return true;
}

void connectQueues(bootstrap::Bootstrap& bootstrap, const std::vector<transport::Connection*>& connections,
                   const Settings& settings) {
  try {
    transport::connectAll(connections, {Deadline::after(timeoutOf(settings)), [&] { bootstrap.check(); }});
  } catch (const Error&) {
    bootstrap.awaitReason();
    throw;
  }
}

// Connects the heads of chains to the network that reduces. If that fails on any rank, it returns null on
// all, and `why` gets the reason.
std::unique_ptr<CollNet> connectCollNet(bootstrap::Bootstrap& bootstrap, const CommPlan& plan, int rank,
                                        CollNetBasics basics, const JoinRequest& request, PeerWatch& watch,
                                        std::string& why) {
  const Logger& log = *request.log;
  auto collnet = std::make_unique<CollNet>(plan.plan, rank, plan.scope, std::move(basics));
  // Half the time that the other ranks wait in the bootstrap meanwhile, so that they do not give up first.
  why = collnet->connect(bootstrap,
                         {Deadline::after(std::chrono::milliseconds(timeoutOf(request.settings)) / 2),
                          [&] { bootstrap.check(); }});
  if (!why.empty()) return nullptr;
  for (const auto& [channel, algorithm, connection] : collnet->connections()) {
    watch.add(*connection);
    log.info(Subsystem::kInit, "CollNet {:02}/0 : {} [send] and [receive] via {}", channel, rank,
             connection->via(transport::QueueUse::kSend, 0));
  }
  return collnet;
}

}  // namespace

CheckRing::CheckRing(const CommPlan& plan, const Transports& transports, int rank) {
  const int ranks = plan.plan.job().ranks();
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  const auto open = [&](int peer, bool sends, bool receives) {
    // A thread of the host compares calls, also those of GPUs.
    const auto nic = [&](paths::Direction direction) {
      return transport::QueueNic(transferNic(plan.choice, plan.plan, rank, peer, 0, direction).device);
    };
    transport::ConnectionRequest request{
        .peer = peer, .purpose = transport::kForChecks, .sends = {}, .receives = {}};
    if (sends) request.sends = {nic(paths::Direction::kSend)};
    if (receives) request.receives = {nic(paths::Direction::kReceive)};
    connections_.push_back(
        transports.open(transports.chooseFor(peer, plannedTransport(plan.choice, rank, peer)), request));
  };
  open(next, true, next == previous);
  if (next != previous) open(previous, false, true);
}

std::vector<transport::Connection*> CheckRing::connections() const {
  std::vector<transport::Connection*> all;
  for (const auto& connection : connections_) all.push_back(connection.get());
  return all;
}

std::map<int, transport::Connection*> CollectiveConnections::byPeer() const {
  std::map<int, transport::Connection*> found;
  for (const auto& [peer, connection] : connections) found[peer] = connection.get();
  return found;
}

Wiring::Wiring(JoinSteps& steps, bootstrap::Bootstrap& bootstrap, const JobRoster& roster,
               const CommPlan& plan, const JoinRequest& request, PeerWatch& watch, CopyChanges& changes,
               const gpu::GpuContext* gpu)
    : stepBytes_(transport::stepBytesFor(roster.bufferBytes())),
      slots_(gpu != nullptr ? std::make_unique<gpu::NetworkSlots>(*gpu, request.settings, request.log,
                                                                  roster.self().peer.process)
                            : nullptr),
      transports_(
          steps.run(InitPart::kAllGathers, "exchanging addresses",
                    [&] { return openTransports(bootstrap, roster, plan, request, changes, slots_.get()); })),
      proxies_(steps.run(
          InitPart::kConnections, "opening connections to proxies",
          [&] { return transports_->openProxies(proxyPartners(plan, roster.peers, roster.rank)); })),
      collectives_(steps.run(InitPart::kConnections, "opening connections", [&] {
        return openConnections(*transports_, plan, roster.rank, *request.log);
      })) {
  dataInSlots_ = steps.run(InitPart::kAllGathers, "looking for networks",
                           [&] { return leadsOverNetwork(bootstrap, roster, collectives_); });
  const std::map<int, transport::Connection*> byPeer = collectives_.byPeer();
  steps.run(InitPart::kConnections, "connecting", [&] {
    std::vector<transport::Connection*> all;
    for (const auto& [peer, connection] : byPeer) all.push_back(connection);
    if (roster.checked) {
      checkRing_.emplace(plan, *transports_, roster.rank);
      for (transport::Connection* connection : checkRing_->connections()) all.push_back(connection);
    }
    for (transport::Connection* connection : all) watch.add(*connection);
    // Not watched: a rank's proxy may stay when the rank has left.
    all.insert(all.end(), proxies_.begin(), proxies_.end());
    connectQueues(bootstrap, all, request.settings);
  });
  // From here on a failure goes over the connections, too: some ranks may be through with joining.
  steps.run(InitPart::kConnections, "linking channels", [&] {
    logConnected(*request.log, {plan.plan, roster.rank, plan.scope, byPeer, collectives_.kinds});
    if (roster.hosts.hosts > 1) whyNoCollNet_ = missingCollNet(roster.peers);
    if (plan.scope.network)
      collnet_ = connectCollNet(bootstrap, plan, roster.rank,
                                {request.network.reducing(bootstrap.secret()), plan.channels, stepBytes_,
                                 byPeer, &transports_->engine()},
                                request, watch, whyNoCollNet_);
    if (!whyNoCollNet_.empty()) request.log->info(Subsystem::kInit, "CollNet is off: {}", whyNoCollNet_);
    logTuning(*request.log, plan.plan, roster.rank, plan.channels);
    links_ = Links(plan.plan, roster.rank, plan.scope, plan.links, byPeer,
                   collnet_ ? collnet_->ends() : std::vector<ChannelNetwork>{});
  });
}

plugins::Profiling* Wiring::observe(std::unique_ptr<plugins::Profiler> profiler) {
  if (!profiler) return nullptr;
  profiling_.emplace(std::move(profiler));
  transports_->engine().observe(&profiling_->engine);
  return &*profiling_;
}

}  // namespace xylem::comm
