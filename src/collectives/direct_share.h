#pragma once
// What DirectExchange does, and which part of it is one rank's.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "collectives/reduction.h"
#include "core/kinds.h"

namespace xylem {

struct DirectWork {
  Collective collective = Collective::kAllReduce;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  // may equal `input` where the collective allows it
  std::size_t count = 0;        // elements, as the caller gave them
  DataType type = DataType::kFloat32;
  std::uint8_t op = 0;  // ReduceOp
  bool scaled = false;  // a pre-multiplied sum
  int root = 0;
  Reduction reduction;
};

constexpr bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

inline std::size_t blockBytes(const DirectWork& work) { return work.count * work.reduction.elementBytes; }
inline std::size_t inputBytes(const DirectWork& work, std::size_t ranks) {
  return blockBytes(work) * (work.collective == Collective::kReduceScatter ? ranks : 1);
}
inline std::size_t outputBytes(const DirectWork& work, std::size_t ranks) {
  return blockBytes(work) * (work.collective == Collective::kAllGather ? ranks : 1);
}
inline bool needsInput(const DirectWork& work, int rank) {
  return work.collective != Collective::kBroadcast || rank == work.root;
}
inline bool needsOutput(const DirectWork& work, int rank) {
  return work.collective != Collective::kReduce || rank == work.root;
}

struct RankShare {
  std::size_t begin = 0, end = 0;  // elements
};

// Equal parts of whole cache lines, so that no two ranks write the same one.
inline RankShare shareOf(const DirectWork& work, int ranks, int rank) {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t grain = kLineBytes / work.reduction.elementBytes;
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t part = ((work.count + n - 1) / n + grain - 1) / grain * grain;
  const std::size_t begin = std::min(work.count, part * static_cast<std::size_t>(rank));
  return {begin, std::min(work.count, begin + part)};
}

}  // namespace xylem
