#include "runtime/comm/issue/mailboxes.h"

#include <algorithm>

#include "runtime/comm/join/transports.h"

namespace xylem::comm {
namespace {

// Every rank polls the mailboxes of all others: with more ranks, rings and trees are faster.
constexpr std::size_t kMaxRanks = 16;

}  // namespace

bool Mailboxes::possible(std::span<const PeerInfo> peers, const connect::NetChoice& choice) {
  if (peers.size() < 2 || peers.size() > kMaxRanks) return false;
  const transport::Peer& first = peers.front().peer;
  const Direct direct = peers.front().direct;
  const bool willing = std::all_of(peers.begin(), peers.end(), [&](const PeerInfo& info) {
    return direct != Direct::kNothing && info.direct == direct && info.peer.hostHash == first.hostHash &&
           info.peer.networkNamespace == first.networkNamespace;
  });
  if (!willing) return false;
  const auto ranks = static_cast<int>(peers.size());
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b)
      if (plannedTransport(choice, a, b) != connect::TransportKind::kP2p) return false;
  return true;
}

Mailboxes::Mailboxes(int rank, std::span<const PeerInfo> peers, bool oversubscribed,
                     const transport::CopyChoices& copies, const collectives::SharedWork& shared,
                     const Transports& transports, PeerWatch& watch, transport::TellChange tell)
    : rank_(rank),
      ranks_(static_cast<int>(peers.size())),
      oneProcess_(
          std::all_of(peers.begin(), peers.end(),
                      [&](const PeerInfo& info) { return info.peer.process == peers.front().peer.process; })),
      oversubscribed_(oversubscribed),
      copies_(copies),
      shared_(shared),
      transports_(transports),
      watch_(watch),
      tell_(std::move(tell)) {}

// Opens a connection to every other rank, each of which passes the memory of the peer's mailbox, and makes
// the exchange once all have done so.
bool Mailboxes::connect() {
  if (!memory_) {
    memory_ = std::make_shared<transport::SharedMemory>(
        transport::SharedMemory::create("xylem mailbox", sizeof(transport::Mailbox)));
    for (int peer = 0; peer < ranks_; ++peer) {
      std::unique_ptr<transport::Connection>& connection = connections_.emplace_back();
      if (peer == rank_) continue;
      connection = transports_.open(transports_.chooseFor(peer, connect::TransportKind::kP2p),
                                    {.peer = peer,
                                     .purpose = transport::kForMailboxes,
                                     .sends = {},
                                     .receives = {},
                                     .mailbox = memory_});
      watch_.add(*connection);
    }
  }
  bool all = true;
  for (const auto& connection : connections_) {
    if (!connection || connection->advance()) continue;
    waitsFor_ = connection->peer();
    all = false;
  }
  if (!all) return false;
  std::vector<collectives::DirectPeer> peers;
  for (const auto& connection : connections_)
    peers.push_back(connection ? collectives::DirectPeer{&connection->mailbox(), &connection->memory()}
                               : collectives::DirectPeer{});
  memory_->closeFd();
  exchange_.emplace(rank_, *reinterpret_cast<transport::Mailbox*>(memory_->data()), std::move(peers),
                    oneProcess_, oversubscribed_, copies_, tell_, shared_);
  return true;
}

}  // namespace xylem::comm
