#pragma once
// What every rank tells all others when a communicator is made, and what each learns about its own place from
// that.

#include <cstdint>
#include <span>
#include <vector>

#include "core/settings.h"
#include "runtime/device/host_device.h"
#include "runtime/transport/peer.h"

namespace xylem {

struct PeerInfo {
  Peer peer;
  std::uint64_t bufferBytes = 0;  // of a queue (NCCL_BUFFSIZE); all use the smallest
  std::int32_t version = 0;       // NCCL_VERSION_CODE; must be the same everywhere
  std::uint64_t direct = 0;       // 1: may exchange directly with its host; no algorithm was asked for
  std::int64_t checked = 0;       // 1: XYLEM_CHECK; one is enough for all
  std::uint64_t reduces = 0;      // what its network does by itself (runtime/comm/issue/reducing.h)
  CoreSet cores;                  // on which this rank may run
};

// This process's, but for the addresses of its transports.
PeerInfo describePeer(const Settings& settings, int rank, int device);

// Which ranks share this rank's host, and which host each rank is on.
struct Neighbourhood {
  std::vector<int> ranks;  // of this rank's host, ascending
  int localRank = 0;       // this rank's place among them
  int hosts = 1;
  std::vector<int> hostOfRank;  // hosts are numbered by their first ranks
};
Neighbourhood neighbourhoodOf(std::span<const PeerInfo> peers, int rank);

// The cores of a host on which the job's ranks may run. Ranks that may use the same cores, and these alone,
// have to do with them; other overlaps are not looked into.
struct HostCores {
  int perRank = 1;       // at least
  bool crowded = false;  // ranks have to take turns
};
// By host; the same answer on all ranks.
std::vector<HostCores> coresOfHosts(std::span<const PeerInfo> peers, const Neighbourhood& neighbourhood);

// Throws if the ranks cannot work together.
void checkVersions(std::span<const PeerInfo> peers, int rank);

}  // namespace xylem
