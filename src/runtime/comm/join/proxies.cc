#include "runtime/comm/join/proxies.h"

#include <algorithm>
#include <map>
#include <optional>

#include "planner/connect/net_choice.h"
#include "runtime/comm/join/comm_plan.h"

namespace xylem::comm {
namespace {

// Memory of a GPU for slots, 2 MiB each, is taken for at most this many queues of a rank.
constexpr int kMostSlots = 16;

// The proxy ranks of `rank`, with the number of queues that each carries.
std::map<int, int> proxiesOf(const CommPlan& plan, int rank) {
  const connect::Job& job = plan.plan.job();
  std::map<int, int> proxies;
  for (const auto& [peer, queues] : planLinks(plan.plan, rank, plan.scope))
    for (const int queue : queues.sends)
      if (const auto end = plan.choice.ringEnd(rank, channelOf(queue), peer, paths::Direction::kSend))
        ++proxies[end->proxy];
  const int perPeer = std::min(plan.plan.connections.of(rank).p2pChannelsPerPeer, plan.channels);
  // A rank's way to another host depends on the number of the GPU there.
  std::map<int, int> peersOfNumber;
  for (int peer = 0; peer < job.ranks(); ++peer) {
    if (job.hostOf(peer) == job.hostOf(rank)) continue;
    if (++peersOfNumber[job.view(peer).system->gpu(job.gpuOf(peer)).dev] > kMostSlots) continue;
    for (int channel = 0; channel < perPeer; ++channel)
      ++proxies[plan.choice.p2pEnd(rank, peer, channel).proxy];
  }
  proxies.erase(-1);
  proxies.erase(rank);
  return proxies;
}

// Whether two ranks send through each other's devices if the plan says so.
bool mayShareDevices(const PeerInfo& one, const PeerInfo& other) {
  const transport::Peer &a = one.peer, &b = other.peer;
  return one.usesProxies != 0 && one.usesProxies == other.usesProxies && a.rank != b.rank &&
         a.hostHash == b.hostHash && a.networkNamespace == b.networkNamespace &&
         (a.gpu != 0) == (b.gpu != 0) && (a.gpu != 0 || a.process != b.process);
}

}  // namespace

std::vector<ProxyPartner> proxyPartners(const CommPlan& plan, std::span<const PeerInfo> peers, int rank) {
  std::vector<ProxyPartner> partners;
  if (plan.plan.job().hosts() == 1) return partners;
  std::optional<std::map<int, int>> mine;
  for (const PeerInfo& other : peers) {
    if (!mayShareDevices(peers[static_cast<std::size_t>(rank)], other)) continue;
    if (!mine) mine = proxiesOf(plan, rank);
    const std::map<int, int> theirs = proxiesOf(plan, other.peer.rank);
    const auto carried = theirs.find(rank);
    if (carried != theirs.end() || mine->contains(other.peer.rank))
      partners.push_back(
          {other.peer.rank, carried == theirs.end() ? 0 : std::min(carried->second, kMostSlots)});
  }
  return partners;
}

}  // namespace xylem::comm
