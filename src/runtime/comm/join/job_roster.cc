#include "runtime/comm/join/job_roster.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/number_ranges.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/join/network_choice.h"

namespace xylem::comm {

std::uint64_t communicatorId(const sockets::Secret& secret) {
  const sockets::Secret derived = sockets::derive("xylem communicator", {std::as_bytes(std::span(secret))});
  std::uint64_t id = 0;
  std::memcpy(&id, derived.data(), sizeof id);
  return id;
}

std::uint64_t JobRoster::bufferBytes() const {
  constexpr std::uint64_t kMostOfGpus = 512 << 10;
  std::uint64_t least =
      hasGpus() && hosts.hosts == 1 ? kMostOfGpus : std::numeric_limits<std::uint64_t>::max();
  for (const PeerInfo& peer : peers) least = std::min(least, peer.bufferBytes);
  return least;
}

JobRoster rosterOf(int rank, std::vector<PeerInfo> peers) {
  checkVersions(peers);
  JobRoster roster;
  roster.rank = rank;
  roster.peers = std::move(peers);
  roster.hosts = hostMapOf(roster.peers, rank);
  roster.cores = coresOfHosts(roster.peers, roster.hosts);
  roster.checked = roster.ranks() > 1 && std::any_of(roster.peers.begin(), roster.peers.end(),
                                                     [](const PeerInfo& peer) { return peer.checked != 0; });
  return roster;
}

std::string differingInterfaces(const std::vector<int>& ranks,
                                const std::vector<sockets::SocketAddress>& addresses) {
  std::vector<std::pair<sockets::SocketAddress, std::vector<int>>> interfaces;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (addresses[i].family() == AF_UNSPEC) continue;
    auto known = std::find_if(interfaces.begin(), interfaces.end(),
                              [&](const auto& other) { return other.first.sameHostAs(addresses[i]); });
    if (known == interfaces.end()) known = interfaces.insert(interfaces.end(), {addresses[i], {}});
    known->second.push_back(ranks[i]);
  }
  if (interfaces.size() < 2) return "";
  std::vector<std::string> parts;
  for (auto& [address, members] : interfaces) {
    address.setPort(0);
    parts.push_back(fmt::format("{} at {}", rankRanges(members), sockets::splitAddress(address.text()).host));
  }
  return fmt::format(
      "ranks of one host listen at different interfaces: {}; other hosts may not reach all of them. Give "
      "NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY the same value on every rank",
      fmt::join(parts, ", "));
}

int JobRoster::ranksOnGpuOf(int other) const {
  const transport::Peer& user = peers[static_cast<std::size_t>(other)].peer;
  return static_cast<int>(std::count_if(peers.begin(), peers.end(), [&](const PeerInfo& rank) {
    return rank.peer.hostHash == user.hostHash && rank.peer.gpu == user.gpu;
  }));
}

namespace {

// Kernels of ranks that share a GPU wait for each other, so all of their blocks have to run at the same time.
void requireOwnGpu(const JobRoster& roster) {
  for (const int other : roster.hosts.ranks) {
    const transport::Peer& peer = roster.peers[static_cast<std::size_t>(other)].peer;
    if (peer.gpu != 0 && other != roster.rank && peer.gpu == roster.self().peer.gpu)
      throw Error(
          ResultCode::kInvalidUsage,
          "rank {} and rank {} both use GPU {} of one host; give each rank its own with cudaSetDevice, or "
          "allow it with NCCL_MULTI_RANK_GPU_ENABLE=1",
          std::min(other, roster.rank), std::max(other, roster.rank), roster.self().peer.device);
  }
}

}  // namespace

JobRoster gatherRoster(bootstrap::Bootstrap& bootstrap, const JoinRequest& request,
                       const gpu::DeviceFacts* gpu) {
  PeerInfo mine = describePeer(request.settings, bootstrap.rank(), request.membership.device,
                               gpu == nullptr ? 0 : gpu->identity);
  if (gpu != nullptr) mine.gpuBlocks = gpu->residentBlocks;
  if (const auto reducing = request.network.reducing(bootstrap.secret())) mine.reduces = reducedBy(*reducing);
  JobRoster roster =
      rosterOf(bootstrap.rank(), bootstrap.allGather(mine, "the exchange of peer information"));
  roster.communicator = communicatorId(bootstrap.secret());
  if (request.settings.integer(Setting::kMultiRankGpu) == 0) requireOwnGpu(roster);
  if (roster.hosts.localRank == 0) {
    std::vector<sockets::SocketAddress> addresses;
    for (const int rank : roster.hosts.ranks) addresses.push_back(bootstrap.addressOf(rank));
    const std::string differ = differingInterfaces(roster.hosts.ranks, addresses);
    if (!differ.empty()) request.log->warn("Bootstrap : {}", differ);
  }
  return roster;
}

}  // namespace xylem::comm
