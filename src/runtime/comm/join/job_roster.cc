#include "runtime/comm/join/job_roster.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/comm/communicator.h"
#include "runtime/comm/join/network_choice.h"

namespace xylem::comm {
namespace {

// Tells nothing about the secret.
std::uint64_t communicatorId(const sockets::Secret& secret) {
  const sockets::Secret derived = sockets::derive("xylem communicator", {std::as_bytes(std::span(secret))});
  std::uint64_t id = 0;
  std::memcpy(&id, derived.data(), sizeof id);
  return id;
}

}  // namespace

std::uint64_t JobRoster::bufferBytes() const {
  return std::min_element(peers.begin(), peers.end(),
                          [](const PeerInfo& a, const PeerInfo& b) { return a.bufferBytes < b.bufferBytes; })
      ->bufferBytes;
}

JobRoster rosterOf(int rank, std::vector<PeerInfo> peers) {
  checkVersions(peers, rank);
  JobRoster roster;
  roster.rank = rank;
  roster.peers = std::move(peers);
  roster.hosts = hostMapOf(roster.peers, rank);
  roster.cores = coresOfHosts(roster.peers, roster.hosts);
  roster.checked = roster.ranks() > 1 && std::any_of(roster.peers.begin(), roster.peers.end(),
                                                     [](const PeerInfo& peer) { return peer.checked != 0; });
  return roster;
}

JobRoster gatherRoster(bootstrap::Bootstrap& bootstrap, const JoinRequest& request) {
  PeerInfo mine = describePeer(request.settings, bootstrap.rank(), request.membership.device);
  if (const auto reducing = request.network.reducing()) mine.reduces = reducedBy(*reducing);
  JobRoster roster =
      rosterOf(bootstrap.rank(), bootstrap.allGather(mine, "the exchange of peer information"));
  roster.communicator = communicatorId(bootstrap.secret());
  return roster;
}

}  // namespace xylem::comm
