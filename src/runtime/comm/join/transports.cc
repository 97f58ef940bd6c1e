#include "runtime/comm/join/transports.h"

#include <array>

#include "runtime/comm/join/rank_network.h"
#include "runtime/transport/local/local_transport.h"
#include "runtime/transport/net/net_transport.h"

namespace xylem::comm {

// Members are destroyed in reverse order: the transports before the network.
struct Transports::Members {
  Members(const TransportBasics& basics, std::unique_ptr<transport::Network> opened, const Settings& settings,
          const std::shared_ptr<const Logger>& log)
      : network(std::make_unique<RankNetwork>(
            std::move(opened), transport::netStepBytesFor(basics.bufferBytes), basics.device, log)),
        sessions(std::make_shared<transport::PeerSessions>(
            sessionOptions(basics, *network->network, settings), *log)),
        p2p(sessions, basics.bufferBytes, basics.copies, basics.tell),
        shm(sessions, basics.bufferBytes),
        net(sessions,
            {.stepBytes = transport::netStepBytesFor(basics.bufferBytes),
             .silence = std::chrono::seconds(settings.integer(Setting::kPeerTimeout)),
             .device = basics.device,
             .proxies = &network->ranks},
            *network->network, network->proxy) {}

  static transport::SessionOptions sessionOptions(const TransportBasics& basics,
                                                  const transport::Network& network,
                                                  const Settings& settings) {
    transport::SessionOptions options{.rank = basics.rank, .secret = basics.secret};
    // Without a device no rank of another host can be joined.
    if (network.deviceCount() > 0) options.address = basics.address;
    options.silence = std::chrono::seconds(settings.integer(Setting::kPeerTimeout));
    return options;
  }

  std::unique_ptr<RankNetwork> network;
  std::shared_ptr<transport::PeerSessions> sessions;
  transport::P2pTransport p2p;
  transport::ShmTransport shm;
  transport::NetTransport net;
};

Transports::Transports(const TransportBasics& basics, std::unique_ptr<transport::Network> network,
                       const Settings& settings, const std::shared_ptr<const Logger>& log)
    : rank_(basics.rank), members_(std::make_unique<Members>(basics, std::move(network), settings, log)) {}

Transports::~Transports() {
  std::unique_ptr<RankNetwork> network = std::move(members_->network);
  members_.reset();
  endWhenUnused(std::move(network));
}

transport::Engine& Transports::engine() { return members_->network->proxy; }

std::vector<transport::Connection*> Transports::openProxies(std::span<const ProxyPartner> partners) {
  transport::ProxyRanks& ranks = members_->network->ranks;
  std::vector<transport::Connection*> opened;
  for (const auto& [rank, queues] : partners)
    opened.push_back(&ranks.open(peers_[static_cast<std::size_t>(rank)], *members_->sessions, queues));
  ranks.serve();
  return opened;
}

void Transports::announce(transport::Peer& self) { members_->sessions->announce(self); }

transport::PeerSessions& Transports::sessions() { return *members_->sessions; }

ChosenTransport Transports::chooseFor(int peer, connect::TransportKind planned) const {
  const std::array<std::pair<connect::TransportKind, transport::Transport*>, 3> all = {
      {{connect::TransportKind::kP2p, &members_->p2p},
       {connect::TransportKind::kShm, &members_->shm},
       {connect::TransportKind::kNet, &members_->net}}};
  std::string reasons;
  for (const auto& [kind, transport] : all) {
    if (kind < planned) continue;
    const transport::Viability viability =
        transport->isViable(peers_[static_cast<std::size_t>(rank_)], peers_[static_cast<std::size_t>(peer)]);
    if (viability.viable) return {kind, transport, reasons};
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", transport->name(), viability.reason);
  }
  throw Error(ResultCode::kInvalidUsage, "no transport joins rank {} to rank {}: {}", rank_, peer, reasons);
}

namespace {

transport::QueueNic nicOf(const connect::NetChoice& choice, const plan::Plan& plan, int rank,
                          const connect::NetEnd& end, paths::Direction direction) {
  if (end.net == topology::kNoNode) return {};
  transport::QueueNic nic(plan.job().view(rank).system->net(end.net).dev);
  const connect::NetChoice::DirectAccess access = choice.directAccess(rank, end.net, direction);
  nic.gdr = access.gdr;
  nic.flush = access.flush && direction == paths::Direction::kReceive;
  if (direction == paths::Direction::kSend && end.proxy != rank) {
    nic.proxy = end.proxy;
    nic.gdr = end.gdr;
  }
  return nic;
}

}  // namespace

connect::TransportKind plannedTransport(const connect::NetChoice& choice, int rank, int peer) {
  return choice.transport(rank, peer, rank < peer ? paths::Direction::kSend : paths::Direction::kReceive);
}

transport::QueueNic collectiveNic(const connect::NetChoice& choice, const plan::Plan& plan, int rank,
                                  int channel, int peer, paths::Direction direction) {
  const std::optional<connect::NetEnd> end = choice.ringEnd(rank, channel, peer, direction);
  return end ? nicOf(choice, plan, rank, *end, direction)
             : transferNic(choice, plan, rank, peer, channel, direction);
}

// A sender uses the device that its peer receives through; that is the peer's own one.
transport::QueueNic transferNic(const connect::NetChoice& choice, const plan::Plan& plan, int rank, int peer,
                                int channel, paths::Direction direction) {
  const int receiver = direction == paths::Direction::kSend ? peer : rank;
  return nicOf(choice, plan, rank, choice.p2pEnd(rank, receiver, channel), direction);
}

}  // namespace xylem::comm
