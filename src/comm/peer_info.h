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
  std::uint64_t bufferBytes = 0;  // of a connection; all use the smallest
  std::int32_t cores = 1;         // this rank may run on
  std::int32_t version = 0;       // NCCL_VERSION_CODE; must be the same everywhere
};

// Which ranks share this rank's host.
struct Neighbourhood {
  std::vector<int> ranks;  // ascending
  int localRank = 0;       // this rank's place among them
  int hosts = 1;
};
Neighbourhood neighbourhoodOf(std::span<const PeerInfo> peers, int rank);

// A number that is equal for ranks on one host: of NCCL_HOSTID, or of the host's name and boot id.
std::uint64_t hostHash(const Settings& settings);

// Throws if the ranks cannot work together.
void checkVersions(std::span<const PeerInfo> peers, int rank);

}  // namespace xylem
