#pragma once
// What a network reduces by itself: a word with a bit for each type and operation, as ranks tell each other.
//
//   info.reduces = reducedBy(network);                              // 0: there is none
//   if (reduces(reducedByAll(peers), DataType::kFloat32, ReduceOp::kSum)) ...

#include <cstdint>
#include <span>

#include "runtime/comm/join/peer_info.h"
#include "runtime/transport/collnet/coll_network.h"

namespace xylem {

// Averages are sums of what was scaled before: no network does that.
constexpr int kNetworkOps = static_cast<int>(ReduceOp::kAvg);
static_assert(kDataTypes * kNetworkOps <= 64);

constexpr std::uint64_t reductionBit(DataType type, ReduceOp op) {
  return std::uint64_t{1} << (static_cast<int>(type) * kNetworkOps + static_cast<int>(op));
}

constexpr bool reduces(std::uint64_t reduced, DataType type, ReduceOp op) {
  return op != ReduceOp::kAvg && (reduced & reductionBit(type, op)) != 0;
}

inline std::uint64_t reducedBy(const CollNetwork& network) {
  std::uint64_t reduced = 0;
  for (int type = 0; type < kDataTypes; ++type)
    for (int op = 0; op < kNetworkOps; ++op)
      if (network.reduces(static_cast<DataType>(type), static_cast<ReduceOp>(op)))
        reduced |= reductionBit(static_cast<DataType>(type), static_cast<ReduceOp>(op));
  return reduced;
}

inline std::uint64_t reducedByAll(std::span<const PeerInfo> peers) {
  std::uint64_t reduced = ~std::uint64_t{0};
  for (const PeerInfo& peer : peers) reduced &= peer.reduces;
  return reduced;
}

}  // namespace xylem
