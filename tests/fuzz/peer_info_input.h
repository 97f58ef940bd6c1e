#pragma once
// An input of the fuzzer of PeerInfo: whatever ranks send about themselves, every rank has a place on a host,
// and queues have a size.
//
//   feedPeerInfo(bytes);   // true if all ranks have one version, of the library and of rules

#include <vector>

#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/transport/queue/queue.h"

namespace xylem {

inline bool feedPeerInfo(std::string_view bytes) {
  Input input(bytes);
  std::vector<comm::PeerInfo> peers(1 + input.take<std::uint8_t>() % 32);
  for (comm::PeerInfo& peer : peers) peer = input.take<comm::PeerInfo>();
  const int rank = input.take<std::uint8_t>() % static_cast<int>(peers.size());
  const comm::HostMap found = comm::hostMapOf(peers, rank);
  require(found.hosts >= 1 && found.hosts <= static_cast<int>(peers.size()));
  require(found.hostOfRank.size() == peers.size());
  require(found.ranks[static_cast<std::size_t>(found.localRank)] == rank);
  const std::vector<comm::HostCores> cores = comm::coresOfHosts(peers, found);
  require(cores.size() == static_cast<std::size_t>(found.hosts));
  for (const comm::HostCores& host : cores) require(host.perRank >= 1);
  for (const comm::PeerInfo& peer : peers) {
    const transport::StepBytes steps = transport::stepBytesFor(peer.bufferBytes);
    require(steps[Protocol::kSimple] >= 1 && steps[Protocol::kLl128] >= 1 &&
            transport::queueBytes(steps) < std::size_t{16} << 20);
  }
  try {
    comm::checkVersions(peers);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
