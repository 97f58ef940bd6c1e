#include "comm/comm_log.h"

#include <nccl.h>

#include <algorithm>
#include <atomic>

#include "plan/plan_log.h"

namespace xylem {
namespace {

// The ranks before and after `rank` in a ring.
std::pair<int, int> around(const std::vector<int>& ring, int rank) {
  const auto n = ring.size();
  const auto i = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
  return {ring[(i + n - 1) % n], ring[(i + 1) % n]};
}

}  // namespace

void logVersion(const Logger& log) {
  static std::atomic<bool> done{false};
  if (!done.exchange(true))
    log.version(fmt::format("NCCL version {}.{}.{}+xylem", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH));
}

void logInitStart(const Logger& log, const void* comm, const Membership& m) {
  // The bus id is only known once the ranks have agreed on who has which device.
  log.info(
      Subsystem::kInit,
      "ncclCommInitRank comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId 0 commId {:#x} - Init START",
      comm, m.rank, m.ranks, m.device, m.device, m.id.fingerprint());
}

void logInitComplete(const Logger& log, const void* comm, const Membership& m, std::uint64_t busId,
                     double seconds) {
  log.info(Subsystem::kInit,
           "ncclCommInitRank comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId {:#x} - Init "
           "COMPLETE",
           comm, m.rank, m.ranks, m.device, m.device, busId, m.id.fingerprint());
  log.info(Subsystem::kInit, "Init timings - ncclCommInitRank: rank {} nranks {} total {:.2f}", m.rank,
           m.ranks, seconds);
}

void logPlan(const Logger& log, const PlannedJob& job, const Membership& m) {
  const Neighbourhood& host = job.neighbourhood;
  log.info(Subsystem::kInit, "rank {} nRanks {} nNodes {} localRanks {} localRank {}", m.rank, m.ranks,
           host.hosts, host.ranks.size(), host.localRank);
  if (m.rank == 0)
    for (const LogLine& line : planLog(job.plan)) log.write(line);
  const auto& rings = job.rings;
  for (std::size_t c = 0; c < rings.size(); ++c) {
    const auto [previous, next] = around(rings[c], m.rank);
    log.info(Subsystem::kGraph, "Ring {:02} : {} -> {} -> {}", c, previous, m.rank, next);
  }
}

void logConnections(const Logger& log, const PlannedJob& job, const Membership& m,
                    std::span<const Peer> peers, std::string_view transport) {
  const auto& rings = job.rings;
  for (std::size_t c = 0; c < rings.size() && m.ranks > 1; ++c) {
    const int next = around(rings[c], m.rank).second;
    log.info(Subsystem::kInit, "Channel {:02}/0 : {}[{}] -> {}[{}] via {}/direct/direct", c, m.rank, m.device,
             next, peers[static_cast<std::size_t>(next)].device, transport);
  }
  log.info(Subsystem::kInit, "Connected all rings");
}

}  // namespace xylem
