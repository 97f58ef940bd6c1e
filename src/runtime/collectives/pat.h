#pragma once
// The arithmetic of PAT ("parallel aggregated trees"): every rank's block goes along a binomial tree of its
// own, and by symmetry all ranks do the same at the same time.
//
// Let the distance of rank r from the owner b of a block be (r - b) mod n. In the block's tree the owner is
// the root, and the parent of distance d is d without its lowest set bit. So distance d = m * 2^(j+1) has the
// children d + 2^j, for every j with 2^j below d's lowest set bit, as far as they are below n. In phase j,
// all edges of length 2^j are used, of all trees: there are about log2(n) phases.
//
// In a phase a rank has several blocks to send and as many to receive, all of them by the same two queues.
// They are ordered so that some are on their way at once, but never more than a queue holds:
//
//   send 0, send 1, receive 0, send 2, receive 1, ..., receive m

#include "runtime/collectives/pieces.h"

namespace xylem {

// Long edges come first on the way from the root (AllGather), and last on the way to it (ReduceScatter).
enum class PatOrder { kLongFirst, kShortFirst };

// Bits that distances have: the smallest k with 2^k >= ranks.
constexpr int patPhases(int ranks) {
  int phases = 0;
  while ((1 << phases) < ranks) ++phases;
  return phases;
}

// Edges of length 2^phase in a tree.
constexpr int patEdges(int ranks, int phase) {
  const int length = 1 << phase;
  return (ranks - length + 2 * length - 1) / (2 * length);
}

// How many pieces may be on their way at once, so that they never take more steps than a queue has. A chunk
// takes at most kStepsPerChunk; so what is not longer than a part of it takes no more than that part of them.
inline int patAhead(const Shape& shape, std::size_t count) {
  constexpr int kChunksAhead = 2;
  if (count * kStepsPerChunk <= shape.chunk) return kChunksAhead * static_cast<int>(kStepsPerChunk);
  if (count * 2 <= shape.chunk) return kChunksAhead * 2;
  return kChunksAhead;
}

// Transfers of a rank per piece: a tree has n - 1 edges; it sends over one of each, and receives.
constexpr std::uint64_t patTransfers(int ranks) { return 2 * static_cast<std::uint64_t>(ranks - 1); }

// A block's way over one edge of its tree: this rank is at the one end or at the other.
struct PatStep {
  bool sends = false;
  int phase = 0;
  int near = 0;  // distances from the owner of the block to the edge's ends
  int far = 0;
  Piece piece;
};
// The one at `index` of a program that works through pieces of `chunk` elements.
PatStep patStep(const Shape& shape, std::size_t chunk, PatOrder order, std::uint64_t index);

}  // namespace xylem
