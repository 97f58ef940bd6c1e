#include "runtime/comm/join/residence.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/comm/join/channel_log.h"
#include "runtime/comm/comm_log.h"
#include "runtime/comm/issue/direct_work.h"
#include "runtime/comm/watch/flight_dump.h"
#include "runtime/comm/join/net_devices.h"
#include "runtime/comm/issue/reducing.h"
#include "runtime/comm/issue/schedule.h"
#include "runtime/device/scheduler.h"
#include "planner/plan/graph_dump.h"
#include "runtime/plugins/tuner.h"

namespace xylem {
namespace {

// After so long without progress the log says whom an operation waits for.
constexpr std::chrono::seconds kRemarkAfter{60};

// In checked mode nobody is waited for longer, unless XYLEM_OPERATION_TIMEOUT says so.
constexpr std::chrono::seconds kCheckedLimit{300};

// Collectives over the boards that take some ten microseconds, and those that take hardly any time.
constexpr std::size_t kBriefBytes = std::size_t{128} << 10, kInstantBytes = std::size_t{4} << 10;

// Takes some hundred microseconds: waking a thread for it does not matter.
constexpr std::size_t kLastingBytes = std::size_t{4} << 20;

std::size_t bytesOf(std::span<const CommOperation> operations) {
  std::size_t bytes = 0;
  for (const CommOperation& operation : operations) bytes += operation.count * elementBytes(operation.type);
  return bytes;
}

// A collective with anything to do.
bool movesTogether(const CommOperation& operation) {
  return !isPointToPoint(operation.function) && operation.count > 0;
}
int collectivesIn(std::span<const CommOperation> operations) {
  return static_cast<int>(std::count_if(operations.begin(), operations.end(), movesTogether));
}

Patience patienceOf(const Settings& settings, bool checked) {
  const std::chrono::seconds limit(settings.integer(Setting::kOperationTimeout));
  if (limit.count() > 0) return {limit, true};
  return checked ? Patience{kCheckedLimit, true} : Patience{kRemarkAfter, false};
}

// The same on all ranks and on no other communicator; tells nothing about the secret.
std::uint64_t communicatorId(const Secret& secret) {
  const Secret derived = derive("xylem communicator", {std::as_bytes(std::span(secret))});
  std::uint64_t id = 0;
  std::memcpy(&id, derived.data(), sizeof id);
  return id;
}

}  // namespace

Residence::Residence(std::unique_ptr<Bootstrap> bootstrap, const Membership& membership,
                     const CommConfig& config, const NetworkChoice& network, const Settings& settings,
                     const std::shared_ptr<const Logger>& log, InitTimer& timer)
    : rank_(bootstrap->rank()),
      ranks_(bootstrap->ranks()),
      sharedLog_(log),
      log_(*log),
      timer_(timer),
      comm_(membership.comm),
      bootstrap_(std::move(bootstrap)),
      watch_(rank_) {
  try {
    meet(settings, membership, network);
    hosts_ =
        describeHosts(*bootstrap_, peers_, settings, {membership.device, network.name(), network.devices()});
    timer_.lap(InitPart::kTopology);
    plan(settings);
    channels_ = channelsToUse(settings, config);
    openTransports(network, settings);
    connect(network, settings);
    bootstrap_->barrier("the last step of joining");
    // Until then everybody learns of failures from the bootstrap.
    watch_.add(*transports_);
    timer_.lap(InitPart::kConnections);
  } catch (const Error& error) {
    // What came from another rank already names it.
    const bool ours = error.code() != ResultCode::kRemoteError;
    const bool misfit = error.code() == ResultCode::kInvalidUsage;
    const std::string reason =
        ours ? fmt::format("rank {} failed: {}", rank_, error.what()) : std::string(error.what());
    // Some may be through already, and no longer listen to the bootstrap.
    watch_.abort(rank_, reason);
    bootstrap_->abort(reason, misfit ? ResultCode::kInvalidUsage : ResultCode::kRemoteError);
    throw;
  }
}

Residence::~Residence() = default;

// The first exchange: who everybody is.
void Residence::meet(const Settings& settings, const Membership& membership, const NetworkChoice& network) {
  PeerInfo mine = describePeer(settings, rank_, membership.device);
  if (const auto reducing = network.reducing()) mine.reduces = reducedBy(*reducing);
  peers_ = bootstrap_->allGather(mine, "the exchange of peer information");
  checkVersions(peers_, rank_);
  checked_ = ranks_ > 1 && std::any_of(peers_.begin(), peers_.end(),
                                       [](const PeerInfo& peer) { return peer.checked != 0; });
  recorder_.emplace(
      FlightRecorder::Who{communicatorId(bootstrap_->secret()), rank_, ranks_, membership.device});
  dumpOnSignal(settings);
  stopped_.emplace(peers_, rank_, std::chrono::seconds(settings.integer(Setting::kStoppedTimeout)));
  bootstrap_->lookAlso([this](const char* what) { stopped_->look(StoppedPeers::kAll, what); });
  timer_.lap(InitPart::kAllGathers);
}

void Residence::plan(const Settings& settings) {
  plan_ = planOf(hosts_, settings, plansAreShown(log_));
  // The plan has its own.
  hosts_.searched.clear();
  hosts_.descriptions.clear();
  dumpGraphs(plan_, settings, rank_);
  netChoice_.emplace(plan_.connections, plan_.reach);
  cores_ = coresOfHosts(peers_, hosts_.neighbourhood);
  if (hostCores().crowded) Scheduler::instance().noteCrowd();
  logPlan(log_, comm_, plan_, hosts_.neighbourhood, rank_);
  logChunkSize(log_, plan_, settings);
  timer_.lap(InitPart::kGraphs);
}

// A channel is work for a core: with fewer cores than ranks, more than one only takes turns with itself.
int Residence::channelsToUse(const Settings& settings, const CommConfig& config) const {
  const auto least =
      std::max({settings.integer(Setting::kMinNChannels), settings.integer(Setting::kMinNRings),
                std::int64_t{config.minCtas}, std::int64_t{0}});
  const auto fewest =
      std::min_element(cores_.begin(), cores_.end(),
                       [](const HostCores& a, const HostCores& b) { return a.perRank < b.perRank; });
  int wanted = std::max(fewest->perRank, static_cast<int>(least));
  if (config.maxCtas > 0) wanted = std::min(wanted, config.maxCtas);
  return std::min(wanted, plan_.connections.nChannels());
}

// The second exchange: where each rank can be called, and whether all mean to do the same.
void Residence::openTransports(const NetworkChoice& network, const Settings& settings) {
  const auto smallest =
      std::min_element(peers_.begin(), peers_.end(),
                       [](const PeerInfo& a, const PeerInfo& b) { return a.bufferBytes < b.bufferBytes; });
  stepBytes_ = stepBytesFor(smallest->bufferBytes);
  std::unique_ptr<Network> through = network.make(bootstrap_->secret(), settings, log_);
  struct Ready {
    Peer peer;
    NetworkName network{};
    std::uint64_t plan = 0;
  };
  Ready mine{peers_[static_cast<std::size_t>(rank_)].peer, network.name(), hashOf(plan_)};
  transports_ = std::make_unique<Transports>(
      TransportBasics{rank_, bootstrap_->secret(), smallest->bufferBytes, bootstrap_->interface()},
      std::move(through), settings, log_);
  transports_->announce(mine.peer);
  std::vector<Peer> peers;
  std::vector<NetworkName> networks;
  std::vector<std::uint64_t> plans;
  for (const Ready& ready : bootstrap_->allGather(mine, "the exchange of transport addresses")) {
    peers.push_back(ready.peer);
    networks.push_back(ready.network);
    plans.push_back(ready.plan);
  }
  checkSameNetwork(networks);
  checkSamePlan(plans);
  transports_->know(std::move(peers));
  timer_.lap(InitPart::kAllGathers);
}

// The heads of chains connect to the network that reduces, if the plan has one. Where that fails nobody uses
// it.
void Residence::connectCollNet(const NetworkChoice& network, const Settings& settings) {
  if (const std::string missing = missingCollNet(peers_); hosts_.neighbourhood.hosts > 1 && !missing.empty())
    log_.info(Subsystem::kInit, "CollNet is off: {}", missing);
  if (!scope_.collnet) return;
  CollNetBasics basics{network.reducing(), channels_, stepBytes_, {}, &transports_->engine()};
  for (const auto& [peer, connection] : connections_) basics.connections[peer] = connection.get();
  collnet_.emplace(plan_, rank_, std::move(basics));
  // The other ranks wait in the bootstrap meanwhile, and shall not be the first to lose patience.
  const std::chrono::seconds timeout(settings.integer(Setting::kTimeout));
  const std::string reason = collnet_->connect(
      *bootstrap_,
      {Deadline::after(std::chrono::milliseconds(timeout) / 2), [this] { bootstrap_->check(); }});
  if (!reason.empty()) {
    log_.info(Subsystem::kInit, "CollNet is off: {}", reason);
    collnet_.reset();
    return;
  }
  for (int channel = 0; channel < channels_; ++channel) {
    const auto& connection = collnet_->connections()[static_cast<std::size_t>(channel)];
    if (!connection) continue;
    watch_.add(*connection);
    log_.info(Subsystem::kInit, "CollNet {:02}/0 : {} [send] and [receive] via {}", channel, rank_,
              connection->via(QueueUse::kSend, 0));
  }
}

void Residence::connect(const NetworkChoice& network, const Settings& settings) {
  scope_ = linkScope(plan_, channels_);
  wanted_ = planLinks(plan_, rank_, scope_);
  makeConnections();
  std::map<int, Connection*> byPeer;
  std::vector<Connection*> all;
  for (const auto& [peer, connection] : connections_) {
    byPeer[peer] = connection.get();
    all.push_back(connection.get());
  }
  if (checked_) {
    checkLinks_.emplace(plan_, *netChoice_, *transports_, rank_);
    for (Connection* connection : checkLinks_->connections()) all.push_back(connection);
  }
  const std::chrono::seconds timeout(settings.integer(Setting::kTimeout));
  for (Connection* connection : all) watch_.add(*connection);
  try {
    connectAll(all, {Deadline::after(timeout), [this] { bootstrap_->check(); }});
  } catch (const Error&) {
    bootstrap_->awaitReason();
    throw;
  }
  logConnected(log_, {plan_, rank_, scope_, byPeer, kinds_});
  connectCollNet(network, settings);
  logTuning(log_, plan_, rank_, channels_);
  links_ =
      Links(plan_, rank_, scope_, wanted_, byPeer, collnet_ ? collnet_->ends() : std::vector<NetworkEnds>{});

  const int view = plan_.job().viewOf(rank_);
  CollNetUse collnet = collNetUse(plan_, view, settings, collnet_ ? reducedByAll(peers_) : 0);
  collnet.log = sharedLog_;
  const TunedJob job{static_cast<std::size_t>(ranks_), static_cast<std::size_t>(hosts_.neighbourhood.hosts)};
  choices_.emplace(plan_.tuning[static_cast<std::size_t>(view)], channels_,
                   findTuner(settings, job, sharedLog_), std::move(collnet));
  transfers_.emplace(plan_, *netChoice_, rank_, channels_, checked_, settings, *transports_, watch_, log_);
  if (Boards::possible(peers_, *netChoice_))
    boards_.emplace(rank_, peers_, hostCores().crowded, *transports_, watch_);
  if (checked_) check_.emplace(rank_, ranks_, checkLinks_->next(), checkLinks_->previous());
  profiler_ = findProfiler(settings, {rank_, communicatorId(bootstrap_->secret())}, sharedLog_);
  if (profiler_) {
    profiledQueues_.emplace(*profiler_);
    transports_->engine().observe(profiledEngine_.emplace(*profiler_));
  }
  launches_ =
      std::make_unique<Launches>(rank_, watch_, *stopped_, patienceOf(settings, checked_), log_, *recorder_,
                                 check_ ? &*check_ : nullptr, profiledQueues_ ? &*profiledQueues_ : nullptr);
  if (!checked_)
    quick_.emplace(ranks_, !hostCores().crowded, boards_ ? &*boards_ : nullptr, *transfers_, *launches_,
                   *recorder_);
}

// Starts them; the peers start theirs.
void Residence::makeConnections() {
  for (const auto& [peer, channels] : wanted_) {
    const TransportWay way = transports_->wayTo(peer, plannedTransport(*netChoice_, rank_, peer));
    if (!way.reason.empty())
      log_.info(Subsystem::kInit, "rank {} to rank {}: {} instead: {}", rank_, peer, name(way.kind),
                way.reason);
    ConnectionRequest request{.peer = peer, .purpose = kForCollectives, .sends = {}, .receives = {}};
    for (const int channel : channels.sends)
      request.sends.push_back(collectiveDevice(*netChoice_, plan_, rank_, channel, peer, Direction::kSend));
    for (const int channel : channels.receives)
      request.receives.push_back(
          collectiveDevice(*netChoice_, plan_, rank_, channel, peer, Direction::kReceive));
    connections_[peer] = transports_->open(way, request);
    kinds_[peer] = way.kind;
  }
}

// As the profiler gets it.
ProfiledCall Residence::profiledCall(const CommOperation& operation, int collectives) {
  ProfiledCall call;
  call.pointToPoint = isPointToPoint(operation.function);
  call.name = name(operation.function);
  // NCCL has a number for sends and receives together before theirs.
  call.function = static_cast<int>(operation.function) + (operation.function >= Function::kSend ? 1 : 0);
  call.send = operation.send;
  call.receive = operation.receive;
  call.count = operation.count;
  call.type = operation.type;
  call.peer = operation.peer;
  if (call.pointToPoint || operation.count == 0) return call;
  call.op = operation.reduction.op;
  call.bytes = operation.count * elementBytes(operation.type);
  call.direct = boards_.has_value();
  if (!isPlanned(operation.function)) return call;
  const ChosenWay& way = choices_->of(operation, collectives);
  call.algorithm = way.algorithm;
  call.protocol = way.protocol;
  call.channels = way.channels;
  return call;
}

void Residence::launchProfiled(std::span<const CommOperation> operations) {
  ProfiledGroup group(*profiler_);
  const int collectives = collectivesIn(operations);
  std::vector<CommOperation> noted(operations.begin(), operations.end());
  const bool followed = profiler_->listensToProxy();
  for (CommOperation& operation : noted) {
    void* const event = group.start(profiledCall(operation, collectives));
    if (followed) operation.event = event;
  }
  issue(noted);
}

void Residence::issue(std::span<const CommOperation> operations) {
  const bool atOnce = quick_ && !(profiler_ && profiler_->listensToProxy());
  const QuickCalls::Outcome quick = atOnce ? quick_->tryNow(operations) : QuickCalls::Outcome::kNotTaken;
  if (quick == QuickCalls::Outcome::kDone) return;
  if (quick == QuickCalls::Outcome::kBegun) return goOn(operations);
  Launch& launch = launches_->next();
  Stream* first = operations.front().stream;
  std::optional<std::size_t> exchanged;
  try {
    exchanged = schedule(operations, scheduling(), launch);
    record(operations, launch);
  } catch (...) {
    launches_->drop(launch);
    throw;
  }
  const bool brief = exchanged.value_or(kBriefBytes + 1) <= kBriefBytes;
  if (brief && *exchanged <= kInstantBytes) launch.flight().startAtOnce();
  // The launch runs in the first stream; the others stand still around it.
  std::set<Stream*> others;
  for (const CommOperation& operation : operations)
    if (operation.stream != first && others.insert(operation.stream).second) launch.fence(*operation.stream);
  launches_->issue(launch, *first, bytesOf(operations) >= kLastingBytes);
  // The peers need not wait until this rank does.
  if (brief) Scheduler::instance().begin(*first);
}

// With what has begun.
void Residence::goOn(std::span<const CommOperation> operations) {
  Launch& launch = launches_->unchecked();
  schedule(operations, scheduling(), launch);
  quick_->handOver(launch);
  launches_->issue(launch, *operations.front().stream);
}

Scheduling Residence::scheduling() {
  return {
      rank_,   ranks_, stepBytes_, links_.channels(), *choices_, *transfers_, boards_ ? &*boards_ : nullptr,
      checked_};
}

// Into the flight recorder, and what checked mode compares.
void Residence::record(std::span<const CommOperation> operations, Launch& launch) {
  const int collectives = collectivesIn(operations);
  for (const CommOperation& operation : operations) {
    std::uint64_t way = 0;
    if (movesTogether(operation)) way = boards_ ? kDirectWay : packWay(choices_->of(operation, collectives));
    launch.flight().add(operation, way);
    if (checked_ && !isPointToPoint(operation.function)) launch.compare(signatureOf(operation));
  }
}

float Residence::predict(std::span<const CommOperation> operations) const {
  float time = 0;
  for (const CommOperation& operation : operations)
    if (isPlanned(operation.function)) time += choices_->predict(operation);
  return time;
}

}  // namespace xylem
