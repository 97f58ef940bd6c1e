#include "comm/peer_info.h"

#include <cstdlib>
#include <set>

#include "core/error.h"
#include "topology/detect_host_hash.h"

namespace xylem {

std::uint64_t hostHash(const Settings& settings) {
  return std::strtoull(hostHash("/", settings.text(Setting::kHostId)).c_str(), nullptr, 16);
}

Neighbourhood neighbourhoodOf(std::span<const PeerInfo> peers, int rank) {
  Neighbourhood found;
  std::set<std::uint64_t> hosts;
  const std::uint64_t mine = peers[static_cast<std::size_t>(rank)].peer.hostHash;
  for (std::size_t r = 0; r < peers.size(); ++r) {
    hosts.insert(peers[r].peer.hostHash);
    if (peers[r].peer.hostHash != mine) continue;
    if (static_cast<int>(r) == rank) found.localRank = static_cast<int>(found.ranks.size());
    found.ranks.push_back(static_cast<int>(r));
  }
  found.hosts = static_cast<int>(hosts.size());
  return found;
}

void checkVersions(std::span<const PeerInfo> peers, int rank) {
  const std::int32_t mine = peers[static_cast<std::size_t>(rank)].version;
  for (std::size_t r = 0; r < peers.size(); ++r)
    if (peers[r].version != mine)
      throw Error(ResultCode::kInvalidUsage,
                  "rank {} has version {}, rank {} has {}: all ranks need the same", rank, mine, r,
                  peers[r].version);
}

}  // namespace xylem
