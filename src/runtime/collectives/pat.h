#pragma once
// PAT ("parallel aggregated trees"), AllGather and ReduceScatter: every rank's block goes along a binomial
// tree of its own, and by symmetry all ranks do the same at the same time.
//
// Let the distance of rank r from the owner b of a block be (r - b) mod n. In the block's tree the owner is
// the root, and the parent of distance d is d without its lowest set bit. So distance d = m * 2^(j+1) has the
// children d + 2^j, for every j with 2^j below d's lowest set bit, as far as they are below n. Phase j uses
// all edges of length 2^j, of all trees: there are about log2(n) phases.
//
// In a phase a rank has several blocks to send and as many to receive, all of them through the same two
// queues. Sends run a little ahead of receives, so that some blocks are on their way at once, but never more
// than a queue holds:
//
//   send 0, send 1, receive 0, send 2, receive 1, ..., receive m

#include "core/shared_code.h"
#include "runtime/collectives/pieces.h"

namespace xylem::collectives::pat {

// Long edges come first on the way from the root (AllGather), and last on the way to it (ReduceScatter).
enum class Order { kLongFirst, kShortFirst };

// Bits of a distance: the smallest k with 2^k >= ranks.
constexpr int phasesOf(int ranks) {
  int phases = 0;
  while ((1 << phases) < ranks) ++phases;
  return phases;
}

// Edges of length 2^phase in a tree: one from each distance that is a multiple of 2^(phase+1) and whose child
// exists.
constexpr int edgesOf(int ranks, int phase) {
  const int length = 1 << phase;
  return (ranks - length + 2 * length - 1) / (2 * length);
}

// How many pieces of `count` elements may be on their way at once without taking more steps than a queue has.
// A whole chunk takes at most kStepsPerChunk steps, and a half or a quarter of one at most a half or a
// quarter of them.
XYLEM_SHARED inline int sendsAhead(const Shape& shape, std::size_t count) {
  constexpr int kChunksAhead = 2;
  if (count * kStepsPerChunk <= shape.chunk) return kChunksAhead * static_cast<int>(kStepsPerChunk);
  if (count * 2 <= shape.chunk) return kChunksAhead * 2;
  return kChunksAhead;
}

// A rank's transfers per piece: a tree has n - 1 edges, and over one of each a rank sends, over another it
// receives.
constexpr std::uint64_t transfersOf(int ranks) { return 2 * static_cast<std::uint64_t>(ranks - 1); }

struct Transfer {
  bool sends = false;
  int edge = 0;
};

// The transfer at `index` of a phase with `edges` sends and as many receives, where `ahead` sends come before
// the first receive.
XYLEM_SHARED inline Transfer transferAt(int index, int edges, int ahead) {
  const int lead = std::min(edges, ahead);
  if (index < lead) return {true, index};
  const int past = index - lead;
  const int pairs = edges - lead;
  if (past >= 2 * pairs) return {false, past - pairs};
  return past % 2 == 0 ? Transfer{false, past / 2} : Transfer{true, lead + past / 2};
}

// A block's way over one edge of its tree; this rank is at one of the ends.
struct Step {
  bool sends = false;
  int phase = 0;
  int near = 0;  // distances of the edge's ends from the owner of the block
  int far = 0;
  Piece piece;
};

// The step at `index` of a program that works through pieces of `chunk` elements.
XYLEM_SHARED inline Step stepAt(const Shape& shape, std::size_t chunk, Order order, std::uint64_t index) {
  const std::uint64_t transfers = transfersOf(shape.ranks);
  const std::uint64_t round = index < transfers ? 0 : index / transfers;
  auto left = static_cast<int>(index - round * transfers);
  const int phases = phasesOf(shape.ranks);
  int phase = order == Order::kLongFirst ? phases - 1 : 0;
  while (left >= 2 * edgesOf(shape.ranks, phase)) {
    left -= 2 * edgesOf(shape.ranks, phase);
    phase += order == Order::kLongFirst ? -1 : 1;
  }
  Step step;
  step.piece = piece(shape, chunk, round);
  const Transfer transfer =
      transferAt(left, edgesOf(shape.ranks, phase), sendsAhead(shape, step.piece.count));
  step.sends = transfer.sends;
  step.phase = phase;
  step.near = transfer.edge << (phase + 1);
  step.far = step.near + (1 << phase);
  return step;
}

// AllGather: every block goes down its tree, over long edges first.

XYLEM_SHARED inline std::uint64_t gatherLength(const Shape& shape) {
  return shape.ranks == 1 ? pieces(shape) : pieces(shape) * transfersOf(shape.ranks);
}

XYLEM_SHARED inline Instruction gatherAt(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  const Step step = stepAt(shape, shape.chunk, Order::kLongFirst, index);
  const std::size_t count = step.piece.count;
  const int owner = around(shape.rank - (step.sends ? step.near : step.far), n);
  const Place block = inOutput(blockStart(shape, owner) + step.piece.offset);
  if (!step.sends) return Instruction::recv(queue(step.phase), block, count);
  if (step.near > 0) return Instruction::send(queue(step.phase), block, count);
  const Place own = inInput(step.piece.offset);
  // The rank's own block takes its longest edge first: it is copied into the output on that occasion.
  const bool copies = !shape.inPlace && step.phase == phasesOf(n) - 1;
  return copies ? Instruction::copySend(queue(step.phase), own, block, count)
                : Instruction::send(queue(step.phase), own, count);
}

// ReduceScatter: partial results go up the trees, over short edges first. Where a tree branches they are
// kept: at the root in the output, elsewhere in scratch, which has a slot for every even distance from the
// owner.

// Scratch must not grow with the number of ranks: if the slots would need more than this many chunks, pieces
// shrink.
constexpr std::size_t kScratchChunks = 4;

// The number of distances 2, 4, ... that have children.
constexpr std::size_t scratchSlots(int ranks) {
  return ranks < 4 ? 0 : static_cast<std::size_t>(ranks / 2 - 1);
}

XYLEM_SHARED inline std::size_t scatterChunk(const Shape& shape) {
  const std::size_t slots = scratchSlots(shape.ranks);
  if (slots <= kScratchChunks) return shape.chunk;
  const std::size_t fair = kScratchChunks * shape.chunk / slots;
  return std::max(shape.grain, fair / shape.grain * shape.grain);
}

XYLEM_SHARED inline bool hasChildren(int distance, int ranks) {
  return distance % 2 == 0 && distance + 1 < ranks;
}

XYLEM_SHARED inline Place partialResult(int distance, const Piece& piece, std::size_t chunk) {
  return distance == 0 ? inOutput(piece.offset)
                       : inScratch(static_cast<std::size_t>(distance / 2 - 1) * chunk);
}

XYLEM_SHARED inline std::uint64_t scatterLength(const Shape& shape) {
  return shape.ranks == 1 ? pieces(shape) : pieces(shape, scatterChunk(shape)) * transfersOf(shape.ranks);
}

XYLEM_SHARED inline Instruction scatterAt(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  const std::size_t chunk = scatterChunk(shape);
  const Step step = stepAt(shape, chunk, Order::kShortFirst, index);
  const int distance = step.sends ? step.far : step.near;
  const int owner = around(shape.rank - distance, n);
  const Place raw = inInput(blockStart(shape, owner) + step.piece.offset);
  const Place kept = partialResult(distance, step.piece, chunk);
  const std::size_t count = step.piece.count;
  if (step.sends) return Instruction::send(queue(step.phase), hasChildren(distance, n) ? kept : raw, count);

  // The first child's part is added to the rank's own, the others' to what is kept.
  const Place own = step.phase == 0 ? raw : kept;
  const bool last = distance == 0 && step.phase == phasesOf(n) - 1;
  return last ? Instruction::recvReduceCopy(queue(step.phase), own, kept, count)
              : Instruction::recvReduceKeep(queue(step.phase), own, kept, count);
}

// Elements of scratch that ReduceScatter needs.
XYLEM_SHARED inline std::size_t scatterScratch(const Shape& shape) {
  return scratchSlots(shape.ranks) * scatterChunk(shape);
}

}  // namespace xylem::collectives::pat
