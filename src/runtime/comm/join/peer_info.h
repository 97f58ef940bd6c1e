#pragma once
// The message of every rank to all others when a communicator is made, and what it says about hosts and
// cores.
//
//   const std::vector<PeerInfo> peers = bootstrap.allGather(describePeer(settings, rank, device));
//   const HostMap hosts = hostMapOf(peers, rank);
//   if (reduces(reducedByAll(peers), DataType::kFloat32, ReduceOp::kSum)) ...   // by networks that reduce

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/settings.h"
#include "runtime/device/host_device.h"
#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/peer.h"

namespace xylem::comm {

// The collectives of a rank that may be exchanges among the ranks of its host (collectives/direct_exchange.h).
enum class Direct : std::uint64_t {
  kNothing,  // a setting asks for algorithms
  kAll,
  kNvls,  // those that NCCL_ALGO gives to NVLS: the exchange plays the switch
};

struct PeerInfo {
  transport::Peer peer;
  std::uint64_t bufferBytes = 0;  // of a queue (NCCL_BUFFSIZE); all ranks use the smallest
  std::int32_t library = 0;       // NCCL_VERSION_CODE; must be the same on all ranks
  std::int32_t rules = 0;         // by which the rank plans: a versionNumber(); the same on all ranks
  Direct direct = Direct::kNothing;
  std::int64_t gpuBlocks = 0;  // of the kernel that its GPU executes at the same time
  std::int64_t checked = 0;    // 1: XYLEM_CHECK=1; one such rank is enough for all
  // Ranks of a host with the same number send through each other's network devices (PXN); 0: not this one.
  std::int64_t usesProxies = 0;
  std::uint64_t reduces = 0;  // by its network: a reductionBit() each, and kGatherBit, kScatterBit
  // The cores that its control groups leave it, in thousandths, and the number of the group that limits them, of which 32 bits are
  // enough to tell those of a host apart; 0: there is no limit, or the number is not known.
  std::uint32_t quota = 0, quotaGroup = 0;
  device::CoreSet cores;  // on which this rank may run
};

// A random number of this process. A forked child gets one of its own.
std::uint64_t processNumber();

// Describes this process; transports add their addresses to the result.
// `gpu`: transport::Peer::gpu.
PeerInfo describePeer(const Settings& settings, int rank, int device, std::uint64_t gpu = 0);

// The ranks that share a rank's host, and the host of every rank.
struct HostMap {
  std::vector<int> ranks;  // of this rank's host, ascending
  int localRank = 0;       // this rank's index in `ranks`
  int hosts = 1;
  std::vector<int> hostOfRank;  // hosts are numbered by their first ranks
};
HostMap hostMapOf(std::span<const PeerInfo> peers, int rank);

// The cores of a host on which the job's ranks may run. Ranks share cores if their sets are equal; sets that
// overlap in other ways count as if they did not. Ranks share a quota if they are in the control group that has it.
struct HostCores {
  int perRank = 1;              // at least this many for each rank
  bool oversubscribed = false;  // there are more ranks than cores for them: they take turns
};
// By host; the same on all ranks.
std::vector<HostCores> coresOfHosts(std::span<const PeerInfo> peers, const HostMap& map);

// Throws if the ranks have different versions of the library, or plan by the rules of different versions of NCCL. All
// ranks throw the same message.
void checkVersions(std::span<const PeerInfo> peers);

// Networks reduce with these operations. They have no averages: these are sums of elements scaled before.
constexpr int kNetworkOps = static_cast<int>(ReduceOp::kAvg);
static_assert(kDataTypes * kNetworkOps <= 62);
// Networks that gather and scatter, too.
constexpr std::uint64_t kGatherBit = std::uint64_t{1} << 62;
constexpr std::uint64_t kScatterBit = std::uint64_t{1} << 63;

constexpr std::uint64_t reductionBit(DataType type, ReduceOp op) {
  return std::uint64_t{1} << (static_cast<int>(type) * kNetworkOps + static_cast<int>(op));
}

constexpr bool reduces(std::uint64_t reduced, DataType type, ReduceOp op) {
  return op != ReduceOp::kAvg && (reduced & reductionBit(type, op)) != 0;
}

inline std::uint64_t reducedBy(const transport::CollNetwork& network) {
  std::uint64_t reduced = 0;
  for (int type = 0; type < kDataTypes; ++type)
    for (int op = 0; op < kNetworkOps; ++op)
      if (network.reduces(static_cast<DataType>(type), static_cast<ReduceOp>(op)))
        reduced |= reductionBit(static_cast<DataType>(type), static_cast<ReduceOp>(op));
  if (network.gathers()) reduced |= kGatherBit;
  if (network.scatters()) reduced |= kScatterBit;
  return reduced;
}

inline bool anyGpu(std::span<const PeerInfo> peers) {
  return std::any_of(peers.begin(), peers.end(), [](const PeerInfo& peer) { return peer.peer.gpu != 0; });
}

inline std::uint64_t reducedByAll(std::span<const PeerInfo> peers) {
  std::uint64_t reduced = ~std::uint64_t{0};
  for (const PeerInfo& peer : peers) reduced &= peer.reduces;
  return reduced;
}

}  // namespace xylem::comm
