#pragma once
// Which ranks of a host send through each other's network devices (PXN)? The plan says it for each queue that leads to another host
// (connect::NetEnd::proxy). Ranks on GPUs do so, as then data need not pass through memory of the host. A rank on a host device reaches
// every network device itself, and uses a proxy rank only if XYLEM_PXN=1 asks for it and that is in another process.
//
//   for (const ProxyPartner& partner : proxyPartners(plan, roster.peers, rank)) ...

#include <span>
#include <vector>

#include "runtime/comm/join/peer_info.h"

namespace xylem::comm {

struct CommPlan;

struct ProxyPartner {
  int rank = -1;
  // How many queues of its collectives and transfers this rank's proxy thread carries, as far as that is known; at most 16.
  int queues = 0;
};

// The ranks whose proxy threads send for this rank, and those for which this rank's does; ascending. If rank a is a partner of
// rank b, then b is one of a.
std::vector<ProxyPartner> proxyPartners(const CommPlan& plan, std::span<const PeerInfo> peers, int rank);

}  // namespace xylem::comm
