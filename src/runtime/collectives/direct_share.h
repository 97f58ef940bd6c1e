#pragma once
// What DirectExchange does, and which part of it is one rank's.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/collectives/reduction.h"
#include "core/kinds.h"

namespace xylem {

// The collectives that the planner knows, and the one that for it is made of sends and receives.
enum class DirectKind : std::uint8_t {
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kAlltoAll
};
constexpr std::size_t kDirectKinds = kAllCollectives.size() + 1;

constexpr DirectKind directKindOf(Collective collective) { return static_cast<DirectKind>(collective); }
static_assert(directKindOf(Collective::kAllReduce) == DirectKind::kAllReduce);
inline const char* name(DirectKind kind) {
  return kind == DirectKind::kAlltoAll ? "AlltoAll" : name(static_cast<Collective>(kind));
}

struct DirectWork {
  DirectKind kind = DirectKind::kAllReduce;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  // may equal `input` where the collective allows it
  std::size_t count = 0;        // elements, as the caller gave them
  DataType type = DataType::kFloat32;
  std::uint8_t op = 0;  // ReduceOp
  bool scaled = false;  // a pre-multiplied sum
  int root = 0;
  Reduction reduction;
};

constexpr bool reduces(DirectKind kind) {
  return kind == DirectKind::kAllReduce || kind == DirectKind::kReduce || kind == DirectKind::kReduceScatter;
}

// Data goes to the root or comes from it.
constexpr bool isRooted(DirectKind kind) {
  return kind == DirectKind::kBroadcast || kind == DirectKind::kReduce;
}

inline std::size_t blockBytes(const DirectWork& work) { return work.count * work.reduction.elementBytes; }
inline std::size_t inputBytes(const DirectWork& work, std::size_t ranks) {
  const bool blocks = work.kind == DirectKind::kReduceScatter || work.kind == DirectKind::kAlltoAll;
  return blockBytes(work) * (blocks ? ranks : 1);
}
inline std::size_t outputBytes(const DirectWork& work, std::size_t ranks) {
  const bool blocks = work.kind == DirectKind::kAllGather || work.kind == DirectKind::kAlltoAll;
  return blockBytes(work) * (blocks ? ranks : 1);
}
inline bool needsInput(const DirectWork& work, int rank) {
  return work.kind != DirectKind::kBroadcast || rank == work.root;
}
inline bool needsOutput(const DirectWork& work, int rank) {
  return work.kind != DirectKind::kReduce || rank == work.root;
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
