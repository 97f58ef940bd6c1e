#include "runtime/comm/issue/boards.h"

#include <algorithm>

#include "runtime/comm/join/net_devices.h"

namespace xylem {
namespace {

// Everybody looks at everybody's board: with more ranks, rings and trees are better.
constexpr std::size_t kMostRanks = 16;

}  // namespace

bool Boards::possible(std::span<const PeerInfo> peers, const NetChoice& choice) {
  if (peers.size() < 2 || peers.size() > kMostRanks) return false;
  const Peer& first = peers.front().peer;
  const bool willing = std::all_of(peers.begin(), peers.end(), [&](const PeerInfo& info) {
    return info.direct != 0 && info.peer.hostHash == first.hostHash &&
           info.peer.networkNamespace == first.networkNamespace;
  });
  if (!willing) return false;
  const auto ranks = static_cast<int>(peers.size());
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b)
      if (plannedTransport(choice, a, b) != TransportKind::kP2p) return false;
  return true;
}

Boards::Boards(int rank, std::span<const PeerInfo> peers, bool crowded, const Transports& transports,
               PeerWatch& watch)
    : rank_(rank),
      ranks_(static_cast<int>(peers.size())),
      oneProcess_(
          std::all_of(peers.begin(), peers.end(),
                      [&](const PeerInfo& info) { return info.peer.process == peers.front().peer.process; })),
      crowded_(crowded),
      transports_(transports),
      watch_(watch) {}

bool Boards::connect() {
  if (!memory_) {
    memory_ = std::make_shared<SharedMemory>(SharedMemory::create("xylem board", sizeof(Board)));
    for (int peer = 0; peer < ranks_; ++peer) {
      std::unique_ptr<Connection>& connection = connections_.emplace_back();
      if (peer == rank_) continue;
      connection = transports_.open(
          transports_.wayTo(peer, TransportKind::kP2p),
          {.peer = peer, .purpose = kForBoards, .sends = {}, .receives = {}, .board = memory_});
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
  std::vector<DirectPeer> peers;
  for (const auto& connection : connections_)
    peers.push_back(connection ? DirectPeer{&connection->board(), &connection->memory()} : DirectPeer{});
  memory_->closeFd();
  exchange_.emplace(rank_, *reinterpret_cast<Board*>(memory_->data()), std::move(peers), oneProcess_,
                    crowded_);
  return true;
}

}  // namespace xylem
