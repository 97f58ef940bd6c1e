#pragma once
// Collectives through the heads of hosts: CollNet's direct pattern, NVLS and NVLSTree. The ranks of a host are the members of
// a star. The data is divided among the heads; every member sends each head its part of it (contributions), the head
// combines them, and sends the result back to all members (results). Heads of several hosts with the same number are
// joined by a tree, whose queues are those of tree.h, or by a network that reduces, which is up.
//
// The programs of an operation run side by side, each on its own queues:
//
//   contribute   to a head          contributions   ->
//   reduce       at a head          contributions and children -> up, or, at the top, results and children
//   pass         at a head          up -> results and children
//   collect      from a head        results ->
//
// In AllGather and ReduceScatter each member is the head of its own block and of those of its number on other hosts, and
// what goes through a network goes there once per piece: the network gathers or scatters the hosts' blocks. A piece
// must then fit into one step, as the network delivers step by step.
//
// There is no deadlock: every queue carries its chunks in the order of rounds, so a rank that is late with a round never waits
// for one that is in a later round.

#include "core/shared_code.h"
#include "runtime/collectives/pieces.h"
#include "runtime/collectives/tree.h"

namespace xylem::collectives::star {

constexpr int kFirstMember = 4;
constexpr int kMaxMembers = 32 - kFirstMember;
constexpr QueueMask kUp = tree::kUp;
constexpr QueueMask kChildren = tree::kDown;

XYLEM_SHARED inline QueueMask member(int index) { return queue(kFirstMember + index); }
XYLEM_SHARED inline QueueMask others(const Shape& shape) {
  QueueMask all = 0;
  for (int i = 0; i < shape.members; ++i)
    if (i != shape.member) all |= member(i);
  return all;
}
XYLEM_SHARED inline QueueMask children(const Shape& shape) { return shape.treePeers & kChildren; }
XYLEM_SHARED inline bool isTop(const Shape& shape) { return (shape.treePeers & kUp) == 0; }

// AllReduce. A round is one chunk for each head.

XYLEM_SHARED inline std::uint64_t rounds(const Shape& shape) {
  return divideUp(shape.count, static_cast<std::size_t>(shape.heads) * shape.chunk);
}
XYLEM_SHARED inline Piece headPiece(const Shape& shape, std::uint64_t round, int head) {
  const std::size_t begin = round * static_cast<std::size_t>(shape.heads) * shape.chunk;
  const std::size_t size = roundChunk(shape, shape.heads, begin);
  const std::size_t start = std::min(shape.count, begin + static_cast<std::size_t>(head) * size);
  return {shape.offset + start, std::min(size, shape.count - start)};
}

XYLEM_SHARED inline int headsElsewhere(const Shape& shape) { return shape.heads - (shape.head >= 0 ? 1 : 0); }
// Members begin with different heads, so that all heads have work at once.
XYLEM_SHARED inline int headInTurn(const Shape& shape, int turn) {
  const int first = shape.head >= 0 ? shape.head + 1 : shape.member;
  return (first + turn) % shape.heads;
}

XYLEM_SHARED inline std::uint64_t contributeLength(const Shape& shape) {
  return rounds(shape) * static_cast<std::uint64_t>(headsElsewhere(shape));
}
XYLEM_SHARED inline Instruction contributeAt(const Shape& shape, std::uint64_t index) {
  const auto n = static_cast<std::uint64_t>(headsElsewhere(shape));
  const int head = headInTurn(shape, static_cast<int>(index % n));
  const Piece p = headPiece(shape, index / n, head);
  return Instruction::send(member(shape.headMembers[head]), inInput(p.offset), p.count);
}
XYLEM_SHARED inline Instruction collectAt(const Shape& shape, std::uint64_t index) {
  const auto n = static_cast<std::uint64_t>(headsElsewhere(shape));
  const int head = headInTurn(shape, static_cast<int>(index % n));
  const Piece p = headPiece(shape, index / n, head);
  return Instruction::recv(member(shape.headMembers[head]), inOutput(p.offset), p.count);
}

XYLEM_SHARED inline std::uint64_t reduceLength(const Shape& shape) {
  return shape.head < 0 ? 0 : rounds(shape);
}
XYLEM_SHARED inline Instruction reduceAt(const Shape& shape, std::uint64_t index) {
  const Piece p = headPiece(shape, index, shape.head);
  const Place own = inInput(p.offset);
  const QueueMask below = others(shape) | children(shape);
  if (isTop(shape)) {
    if (below == 0) return Instruction::copy(own, inOutput(p.offset), p.count);
    return Instruction::recvReduceCopySend(below, below, own, inOutput(p.offset), p.count);
  }
  if (below == 0) return Instruction::send(kUp, own, p.count);
  return Instruction::recvReduceSend(below, kUp, own, p.count);
}

XYLEM_SHARED inline std::uint64_t passLength(const Shape& shape) {
  return isTop(shape) ? 0 : reduceLength(shape);
}
XYLEM_SHARED inline Instruction passAt(const Shape& shape, std::uint64_t index) {
  const Piece p = headPiece(shape, index, shape.head);
  const Place out = inOutput(p.offset);
  const QueueMask below = others(shape) | children(shape);
  return below == 0 ? Instruction::recv(kUp, out, p.count)
                    : Instruction::recvCopySend(kUp, below, out, p.count);
}

// AllGather and ReduceScatter. The blocks of a member are those of the ranks of its number on all hosts.

XYLEM_SHARED inline std::size_t blockOf(const Shape& shape, int host, int member) {
  return blockStart(shape, shape.grid[host * shape.members + member]);
}

// For each piece, the blocks of every other member.
XYLEM_SHARED inline std::uint64_t blocksLength(const Shape& shape) {
  return pieces(shape) * static_cast<std::uint64_t>(shape.members - 1) *
         static_cast<std::uint64_t>(shape.hosts);
}
struct BlockTurn {
  Piece piece;
  int member;
  std::size_t block;  // where the block starts
};
XYLEM_SHARED inline BlockTurn blockTurn(const Shape& shape, std::uint64_t index) {
  const auto hosts = static_cast<std::uint64_t>(shape.hosts);
  const auto turns = static_cast<std::uint64_t>(shape.members - 1);
  const auto host = static_cast<int>(index % hosts);
  const auto turn = static_cast<int>(index / hosts % turns);
  const int other = (shape.member + 1 + turn) % shape.members;
  return {piece(shape, index / hosts / turns), other, blockOf(shape, host, other)};
}

XYLEM_SHARED inline std::uint64_t gatherSendLength(const Shape& shape) { return pieces(shape); }
XYLEM_SHARED inline Instruction gatherSendAt(const Shape& shape, std::uint64_t index) {
  const Piece p = piece(shape, index);
  const Place own = inInput(p.offset);
  if (!isTop(shape)) return Instruction::send(kUp, own, p.count);
  const Place out = inOutput(blockStart(shape, shape.rank) + p.offset);
  const QueueMask to = others(shape);
  if (to == 0) return Instruction::copy(own, out, p.count);
  return shape.inPlace ? Instruction::send(to, own, p.count) : Instruction::copySend(to, own, out, p.count);
}

XYLEM_SHARED inline std::uint64_t gatherPassLength(const Shape& shape) {
  return isTop(shape) ? 0 : pieces(shape) * static_cast<std::uint64_t>(shape.hosts);
}
XYLEM_SHARED inline Instruction gatherPassAt(const Shape& shape, std::uint64_t index) {
  const auto hosts = static_cast<std::uint64_t>(shape.hosts);
  const Piece p = piece(shape, index / hosts);
  const Place out = inOutput(blockOf(shape, static_cast<int>(index % hosts), shape.member) + p.offset);
  const QueueMask to = others(shape);
  return to == 0 ? Instruction::recv(kUp, out, p.count) : Instruction::recvCopySend(kUp, to, out, p.count);
}

XYLEM_SHARED inline Instruction gatherCollectAt(const Shape& shape, std::uint64_t index) {
  const BlockTurn turn = blockTurn(shape, index);
  return Instruction::recv(member(turn.member), inOutput(turn.block + turn.piece.offset), turn.piece.count);
}

XYLEM_SHARED inline Instruction scatterContributeAt(const Shape& shape, std::uint64_t index) {
  const BlockTurn turn = blockTurn(shape, index);
  return Instruction::send(member(turn.member), inInput(turn.block + turn.piece.offset), turn.piece.count);
}

XYLEM_SHARED inline std::uint64_t scatterReduceLength(const Shape& shape) {
  return pieces(shape) * static_cast<std::uint64_t>(shape.hosts);
}
XYLEM_SHARED inline Instruction scatterReduceAt(const Shape& shape, std::uint64_t index) {
  const auto hosts = static_cast<std::uint64_t>(shape.hosts);
  const Piece p = piece(shape, index / hosts);
  const Place own = inInput(blockOf(shape, static_cast<int>(index % hosts), shape.member) + p.offset);
  const QueueMask from = others(shape);
  if (isTop(shape))
    return from == 0 ? Instruction::copy(own, inOutput(p.offset), p.count)
                     : Instruction::recvReduceCopy(from, own, inOutput(p.offset), p.count);
  return from == 0 ? Instruction::send(kUp, own, p.count)
                   : Instruction::recvReduceSend(from, kUp, own, p.count);
}

XYLEM_SHARED inline std::uint64_t scatterKeepLength(const Shape& shape) {
  return isTop(shape) ? 0 : pieces(shape);
}
XYLEM_SHARED inline Instruction scatterKeepAt(const Shape& shape, std::uint64_t index) {
  const Piece p = piece(shape, index);
  return Instruction::recv(kUp, inOutput(p.offset), p.count);
}

}  // namespace xylem::collectives::star

namespace xylem::collectives {

// A star has two sets of queues, for contributions to heads and for results from them. A program reads one and writes one.
struct StarQueues {
  bool readsContributions = false;
  bool writesContributions = false;
};
constexpr StarQueues starQueues(ProgramKind kind) {
  return {kind == ProgramKind::kStarReduce || kind == ProgramKind::kStarScatterReduce,
          kind == ProgramKind::kStarContribute || kind == ProgramKind::kStarScatterContribute};
}

}  // namespace xylem::collectives
