#include "comm/job_plan.h"

#include <map>

#include "comm/host_description.h"
#include "connect/rings.h"
#include "plan/graph_dump.h"
#include "plan/planner.h"

namespace xylem {
namespace {

// A description of one rank's view is tens of kilobytes; this only bounds what a broken peer can make us
// allocate.
constexpr std::size_t kMostDescriptionBytes = std::size_t{16} << 20;

struct DeviceUse {
  std::uint64_t busId = 0;
  std::uint32_t hostDevice = 0;
  std::int32_t device = 0;
};

void checkDevices(std::span<const DeviceUse> devices, std::span<const PeerInfo> peers) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> users;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank].hostDevice != 0) continue;
    const auto [found, first] = users.try_emplace({peers[rank].peer.hostHash, devices[rank].busId}, rank);
    if (!first)
      throw Error(
          ResultCode::kInvalidUsage,
          "rank {} and rank {} both use device {} (bus id {:x}) of one host; give each rank its own with "
          "cudaSetDevice",
          found->second, rank, devices[rank].device, devices[rank].busId);
  }
}

std::uint64_t hashOf(const std::vector<std::vector<int>>& rings) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const auto& ring : rings)
    for (const int rank : ring) hash = (hash ^ static_cast<std::uint64_t>(rank)) * 1099511628211ull;
  return hash;
}

}  // namespace

PlannedJob planWithPeers(Ring& ring, std::span<const PeerInfo> peers, const Settings& settings, int device) {
  PlannedJob job;
  job.neighbourhood = neighbourhoodOf(peers, ring.rank());
  const Neighbourhood& host = job.neighbourhood;
  if (host.hosts > 1)
    throw Error(
        ResultCode::kInvalidUsage,
        "the {} ranks are on {} hosts; this version connects ranks of one host only, through shared memory",
        ring.ranks(), host.hosts);

  const RankSeat seat{ring.rank(), host.localRank, static_cast<int>(host.ranks.size()), device};
  const RankDescription mine = describeForRank(settings, seat);
  job.busId = busIdNumber(mine.busId);
  checkDevices(ring.allGather(DeviceUse{job.busId, mine.hostDevice ? 1u : 0u, device}), peers);

  const auto bytes = std::as_bytes(std::span(mine.xml.data(), mine.xml.size()));
  std::vector<std::string> xmls;
  for (const auto& xml : ring.allGatherBytes(bytes, kMostDescriptionBytes))
    xmls.emplace_back(reinterpret_cast<const char*>(xml.data()), xml.size());
  PlanRequest request = identicalHosts(fuseDescriptions(xmls), host.hosts);
  request.graphFile = graphFileOf(settings);
  job.plan = planJob(request, settings);
  dumpGraphs(job.plan, settings, ring.rank());
  for (int c = 0; c < job.plan.connections.nChannels(); ++c)
    job.rings.push_back(ringOf(job.plan.connections, c));
  return job;
}

void checkSamePlan(Ring& ring, const std::vector<std::vector<int>>& rings) {
  const std::vector<std::uint64_t> hashes = ring.allGather(hashOf(rings));
  for (std::size_t rank = 0; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes.front())
      throw Error(ResultCode::kInvalidUsage,
                  "rank {} and rank 0 made different plans: are their NCCL_* variables the same?", rank);
}

}  // namespace xylem
