#pragma once
// An input of the fuzzer of PeerInfo: whatever ranks send about themselves, every rank has a place on a host,
// and queues have a size.
//
//   feedPeerInfo(bytes);   // true if all ranks have one version

#include <vector>

#include "runtime/comm/join/peer_info.h"
#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/transport/queue/queue.h"

namespace xylem {

inline bool feedPeerInfo(std::string_view bytes) {
  Input input(bytes);
  std::vector<PeerInfo> peers(1 + input.take<std::uint8_t>() % 32);
  for (PeerInfo& peer : peers) peer = input.take<PeerInfo>();
  const int rank = input.take<std::uint8_t>() % static_cast<int>(peers.size());
  const HostMap found = hostMapOf(peers, rank);
  require(found.hosts >= 1 && found.hosts <= static_cast<int>(peers.size()));
  require(found.hostOfRank.size() == peers.size());
  require(found.ranks[static_cast<std::size_t>(found.localRank)] == rank);
  const std::vector<HostCores> cores = coresOfHosts(peers, found);
  require(cores.size() == static_cast<std::size_t>(found.hosts));
  for (const HostCores& host : cores) require(host.perRank >= 1);
  for (const PeerInfo& peer : peers) {
    const StepBytes steps = stepBytesFor(peer.bufferBytes);
    require(steps[Protocol::kSimple] >= 1 && steps[Protocol::kLl128] >= 1 &&
            queueBytes(steps) < std::size_t{16} << 20);
  }
  try {
    checkVersions(peers, rank);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
