#include "runtime/comm/issue/gpu_sharing.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xylem::comm {
namespace {

// GPUs use each other's memory if the plan has P2P between them. `toBuffers`: also that of the program, in the direction that the plan
// has, and in both between ranks that share a GPU.
GpuQueues::Reach reachOf(const JobRoster& roster, const connect::NetChoice& choice, bool toBuffers,
                         int rank) {
  using By = GpuQueues::Reach::By;
  const transport::Peer& self = roster.self().peer;
  const transport::Peer& peer = roster.peers[static_cast<std::size_t>(rank)].peer;
  if (peer.gpu == 0 || peer.hostHash != self.hostHash) return {};
  if (choice.transport(roster.rank, rank, paths::Direction::kSend) != connect::TransportKind::kP2p)
    return {.by = By::kForbidden};
  if (peer.process != self.process) return {.by = By::kName};
  const bool isOwn = peer.gpu == self.gpu;
  const bool reads = choice.reads(roster.rank, rank);
  return {By::kProcess, peer.device, isOwn, toBuffers && (isOwn || reads), toBuffers && (isOwn || !reads)};
}

void logOffer(const Logger& log, const gpu::GpuContext& gpu, gpu::MemoryName::By by) {
  using By = gpu::MemoryName::By;
  if (by == By::kNothing) return;
  log.info(Subsystem::kInit, "rank {}, GPU {}: other processes reach its memory {}", gpu.rank(), gpu.device(),
           by == By::kFile ? "as files (cuMem)" : "by CUDA IPC");
}

std::string listOf(const std::map<int, std::string>& ranks) {
  std::string list;
  for (const auto& [rank, why] : ranks)
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", rank, why.empty() ? "" : " (" + why + ")");
  return list;
}

}  // namespace

bool warnOfUnreached(const Logger& log, const gpu::GpuContext& gpu, GpuQueues& queues) {
  const std::map<int, std::string> unreached = queues.takeUnreached();
  if (unreached.empty()) return false;
  log.warn(
      "rank {}, GPU {}: it cannot exchange memory with the GPUs of ranks {}, as the plan has it: the driver "
      "gives no access, or one side forbids it (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL). What goes between them "
      "takes the way through memory of the host",
      gpu.rank(), gpu.device(), listOf(unreached));
  return true;
}

SharedGpus shareGpus(bootstrap::Bootstrap& bootstrap, const JobRoster& roster, const CommPlan& plan,
                     const Wiring& wiring, const JoinRequest& request, const gpu::GpuContext* gpu) {
  SharedGpus gpus;
  if (!roster.hasGpus()) return gpus;
  const bool toBuffers = request.settings.integer(Setting::kP2pDirectDisable) == 0;
  if (gpu != nullptr) {
    gpus.executor = std::make_unique<GpuExecutor>(
        *gpu, GpuExecutor::Job{wiring.channels(), roster.ranks(), roster.ranksOnGpu(), wiring.dataInSlots()},
        [&roster, &plan, toBuffers](int rank) { return reachOf(roster, plan.choice, toBuffers, rank); });
    gpus.executor->queues().offerMemory();
    logOffer(*request.log, *gpu, gpus.executor->queues().namedBy());
  }
  bootstrap.barrier("offering memory of GPUs");
  if (gpu != nullptr) gpus.executor->queues().acceptMemory();
  bootstrap.barrier("accepting memory of GPUs");
  bool unreached = false;
  if (gpu != nullptr) {
    gpus.executor->queues().useMemory();
    unreached = warnOfUnreached(*request.log, *gpu, gpus.executor->queues());
  }
  const std::vector<std::uint8_t> reached =
      bootstrap.allGather<std::uint8_t>(unreached ? 0 : 1, "which GPUs reach each other");
  gpus.reachEachOther = std::ranges::all_of(reached, [](std::uint8_t all) { return all != 0; });
  return gpus;
}

}  // namespace xylem::comm
