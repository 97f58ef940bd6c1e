#pragma once
// The operations of a DirectExchange, and the share of one rank in them.
//
//   const RankShare mine = shareOf(work, ranks, rank);
//   reduce(mine.begin, mine.end);

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/kinds.h"
#include "runtime/collectives/reduction.h"
#include "runtime/transport/local/mailbox.h"

namespace xylem::collectives {

// The collectives that the planner knows, and all-to-all, which the planner sees as sends and receives.
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
  std::byte* output = nullptr;  // may equal `input` if the collective allows it
  std::size_t count = 0;        // elements, as in the call: of the block that a rank brings or gets
  DataType type = DataType::kFloat32;
  std::uint8_t op = 0;  // ReduceOp
  bool scaled = false;  // a pre-multiplied sum
  int root = 0;
  Reduction reduction;
};

constexpr bool reduces(DirectKind kind) {
  return kind == DirectKind::kAllReduce || kind == DirectKind::kReduce || kind == DirectKind::kReduceScatter;
}

// True if the data goes to the root or comes from it.
constexpr bool isRooted(DirectKind kind) {
  return kind == DirectKind::kBroadcast || kind == DirectKind::kReduce;
}

// True if a rank brings a block of its own for every other rank.
constexpr bool postsBlocks(DirectKind kind) {
  return kind == DirectKind::kReduceScatter || kind == DirectKind::kAlltoAll;
}

inline std::size_t blockBytes(const DirectWork& work) { return work.count * work.reduction.elementBytes; }
inline std::size_t inputBytes(const DirectWork& work, std::size_t ranks) {
  return blockBytes(work) * (postsBlocks(work.kind) ? ranks : 1);
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

// The factor of the rank that posted this descriptor, which is its own if the operation is a pre-multiplied
// sum.
inline Factor factorOf(const DirectWork& work, const transport::Descriptor& descriptor) {
  Factor factor = work.reduction.factor;
  if (work.scaled) factor.element = descriptor.factor;
  return factor;
}

struct RankShare {
  std::size_t begin = 0, end = 0;  // elements
};

// Equal parts of whole cache lines, so that no two ranks write to the same line.
inline RankShare shareOf(const DirectWork& work, int ranks, int rank) {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t grain = kLineBytes / work.reduction.elementBytes;
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t part = ((work.count + n - 1) / n + grain - 1) / grain * grain;
  const std::size_t begin = std::min(work.count, part * static_cast<std::size_t>(rank));
  return {begin, std::min(work.count, begin + part)};
}

}  // namespace xylem::collectives
