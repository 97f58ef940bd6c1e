#pragma once
// What every rank tells all others when a communicator is made, and what each learns about its own place from
// that.

#include <cstdint>
#include <span>
#include <vector>

#include "core/settings.h"
#include "transport/peer.h"

namespace xylem {

struct PeerInfo {
  Peer peer;
  std::uint64_t bufferBytes = 0;  // of a queue (NCCL_BUFFSIZE); all use the smallest
  std::int32_t cores = 1;         // this rank may run on
  std::int32_t version = 0;       // NCCL_VERSION_CODE; must be the same everywhere
  std::uint64_t direct = 0;       // 1: may exchange directly with its host; no algorithm was asked for
  std::int64_t checked = 0;       // 1: XYLEM_CHECK; one is enough for all
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

// How many cores every rank of the job has at least; the same answer on all ranks.
int coresPerRank(std::span<const PeerInfo> peers, const Neighbourhood& neighbourhood);

// Throws if the ranks cannot work together.
void checkVersions(std::span<const PeerInfo> peers, int rank);

}  // namespace xylem
