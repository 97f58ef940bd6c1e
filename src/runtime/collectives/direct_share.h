#pragma once
// The operations of a DirectExchange, and the share of one rank in them.
//
//   const RankShare mine = shareOf(work, ranks, rank);
//   reduce(mine.begin, mine.end);

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/copying.h"
#include "core/kinds.h"
#include "runtime/collectives/reduction.h"
#include "runtime/transport/local/mailbox.h"

namespace xylem::collectives {

struct DirectWork {
  Function function = Function::kAllReduce;  // a collective
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  // may equal `input` if the collective allows it
  std::size_t count = 0;        // elements, as in the call: of the block that a rank brings or gets
  DataType type = DataType::kFloat32;
  std::uint8_t op = 0;  // ReduceOp
  bool scaled = false;  // a pre-multiplied sum
  int root = 0;
  Reduction reduction;
  bool streaming = false;  // results that are not mapped are written past the caches, which cannot hold them
};

inline std::size_t blockBytes(const DirectWork& work) { return work.count * work.reduction.elementBytes; }
inline std::size_t inputBytes(const DirectWork& work, std::size_t ranks) {
  return blockBytes(work) * (sendsBlocks(work.function) ? ranks : 1);
}
inline std::size_t outputBytes(const DirectWork& work, std::size_t ranks) {
  return blockBytes(work) * (receivesBlocks(work.function) ? ranks : 1);
}
inline bool needsInput(const DirectWork& work, int rank) {
  return work.function != Function::kBroadcast || rank == work.root;
}
inline bool needsOutput(const DirectWork& work, int rank) {
  return work.function != Function::kReduce || rank == work.root;
}

// Whether data goes one way, and to this rank.
inline bool isBrought(const DirectWork& work, int rank) {
  return isRooted(work.function) && (rank == work.root) == (work.function == Function::kReduce);
}

// Whether this rank posts a descriptor: a Broadcast has that of its root alone. The root of a Reduce has one also where it brings
// nothing, for ranks that called another operation.
inline bool posts(const DirectWork& work, int rank) {
  return work.function != Function::kBroadcast || rank == work.root;
}
// Whether this rank takes data that `other` brings.
inline bool takesFrom(const DirectWork& work, int rank, int other) {
  if (other == rank) return false;
  if (!isRooted(work.function)) return true;
  return isBrought(work, rank) && (work.function == Function::kReduce || other == work.root);
}

// The buffers of all ranks together.
inline std::size_t allBytes(const DirectWork& work, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return (inputBytes(work, n) + outputBytes(work, n)) * n;
}

// Where this rank's own block begins in its buffers.
inline const std::byte* ownInput(const DirectWork& work, int rank) {
  return work.input + (sendsBlocks(work.function) ? static_cast<std::size_t>(rank) * blockBytes(work) : 0);
}
inline std::byte* ownOutput(const DirectWork& work, int rank) {
  return work.output +
         (receivesBlocks(work.function) ? static_cast<std::size_t>(rank) * blockBytes(work) : 0);
}
inline bool isInPlace(const DirectWork& work, int rank) {
  return needsInput(work, rank) && needsOutput(work, rank) && ownOutput(work, rank) == ownInput(work, rank);
}
// Whether this rank has data to copy from its input to its output.
inline bool keepsOwn(const DirectWork& work, int rank) {
  return !reduces(work.function) && needsInput(work, rank) && !isInPlace(work, rank);
}
// Copies `bytes` of it, from offset `at` of its own block on.
inline void keepOwn(const DirectWork& work, int rank, std::size_t at, std::size_t bytes) {
  (work.streaming ? copyBytesStreaming : copyBytes)(ownOutput(work, rank) + at, ownInput(work, rank) + at,
                                                    bytes);
}
// Whether this rank's results are written past the caches, if they are not mapped. If it reduces in place, the lines were just read and are in
// the cache: to write them past it takes them out first, which costs up to six times as much.
inline bool streamsResults(const DirectWork& work, int rank) {
  return work.streaming && !(reduces(work.function) && isInPlace(work, rank));
}

// The call as a rank posts it, without what its buffers are like.
inline transport::PostedCall postedCall(const DirectWork& work) {
  return {.count = work.count,
          .function = static_cast<std::uint8_t>(work.function),
          .type = static_cast<std::uint8_t>(work.type),
          .op = work.op,
          .flags = work.scaled ? transport::PostedCall::kScaled : std::uint8_t{0},
          .root = work.root,
          .factor = work.reduction.factor.element};
}

// The factor of the rank that posted this descriptor, which is its own if the operation is a pre-multiplied
// sum.
inline Factor factorOf(const DirectWork& work, const transport::Descriptor& descriptor) {
  Factor factor = work.reduction.factor;
  if (work.scaled) factor.element = descriptor.call.factor;
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
