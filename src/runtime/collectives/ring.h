#pragma once
// The ring algorithms. Every rank receives from the previous rank of the ring and sends to the next one.
//
// AllGather and ReduceScatter send every rank's block round the ring once, and AllReduce sends each chunk
// round it twice: first while every rank adds its part, then while every rank keeps the result. Broadcast and
// Reduce are chains: the data goes along the ring from one neighbour of the cut to the other, piece by piece,
// so that all links work at the same time.

#include "core/shared_code.h"
#include "runtime/collectives/pieces.h"

namespace xylem::collectives::ring {

constexpr QueueMask kPrevious = queue(0);
constexpr QueueMask kNext = queue(0);

// Where an instruction stands in a program. All ranks make their turns in the same order, and so receive data in the order in which it was
// sent. Rounds overlap, those of AllReduce if Shape::overlaps says so: a rank works on one while data of another is on its way.
struct Turn {
  std::uint64_t round;
  int turn;
};

// AllGather and ReduceScatter of n ranks, at least two, make n turns for each piece. The first turn of a piece, which only
// sends, comes before the last one of the piece before, which only receives. With three ranks: 00 01 10 02 11 20 12 21 22.
XYLEM_SHARED inline Turn turnAt(const Shape& shape, std::uint64_t index) {
  if (index == 0) return {0, 0};
  const auto n = static_cast<std::uint64_t>(shape.ranks);
  const std::uint64_t place = index - 1;
  const std::uint64_t round = quotient(place, n);
  const std::uint64_t turn = place - round * n + 1;
  if (turn + 1 < n) return {round, static_cast<int>(turn)};
  if (turn + 1 == n && (round + 1) * shape.chunk < shape.count) return {round + 1, 0};
  return {round, shape.ranks - 1};
}

// AllGather. In turn t of a piece, a rank handles the block of the rank t positions before it: it sends its
// own block first, then passes on each block that it receives, and keeps the last one.

XYLEM_SHARED inline std::uint64_t allGatherLength(const Shape& shape) {
  return pieces(shape) * static_cast<std::uint64_t>(shape.ranks);
}

XYLEM_SHARED inline Instruction allGatherAt(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  const auto [round, turn] = turnAt(shape, index);
  const Piece p = piece(shape, round);
  const int owner = shape.order[around(shape.position - turn, n)];
  const Place out = inOutput(blockStart(shape, owner) + p.offset);

  if (turn == 0) {
    const Place own = inInput(p.offset);
    return shape.inPlace ? Instruction::sendBlock(kNext, own, out, p.count)
                         : Instruction::copySend(kNext, own, out, p.count);
  }
  if (turn < n - 1) return Instruction::recvCopySend(kPrevious, kNext, out, p.count);
  return Instruction::recv(kPrevious, out, p.count);
}

// ReduceScatter. A block starts at the rank after its owner and arrives at the owner last; every rank on the
// way adds its part. So a rank starts the block of the rank before it, and in each later turn handles the
// block before that.

XYLEM_SHARED inline std::uint64_t reduceScatterLength(const Shape& shape) {
  return pieces(shape) * static_cast<std::uint64_t>(shape.ranks);
}

XYLEM_SHARED inline Instruction reduceScatterAt(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  const auto [round, turn] = turnAt(shape, index);
  const Piece p = piece(shape, round);
  const int owner = shape.order[around(shape.position - 1 - turn, n)];
  const Place own = inInput(blockStart(shape, owner) + p.offset);

  if (turn == 0) return Instruction::send(kNext, own, p.count);
  if (turn < n - 1) return Instruction::recvReduceSend(kPrevious, kNext, own, p.count);
  return Instruction::recvReduceCopy(kPrevious, own, inOutput(p.offset), p.count);
}

// AllReduce: a ReduceScatter of chunks followed by their AllGather. With n ranks, a rank sends 2(n-1)/n of
// its data, which is the least possible.
//
// A large part is worked through in rounds of one chunk per rank; the chunks of the last round shrink, so
// that every rank has some of it. The rank before a chunk's owner starts it, and the owner adds the last part
// and sends the result on, so that every rank receives the same bits.
//
// Two ranks with little data exchange it instead (Shape::exchange): a second message takes longer to arrive
// than it takes both ranks to add all of the data.

XYLEM_SHARED inline std::uint64_t allReduceLength(const Shape& shape) {
  if (shape.ranks == 1) return pieces(shape);
  if (shape.exchange) return 3;
  const auto n = static_cast<std::uint64_t>(shape.ranks);
  return divideUp(shape.count, n * shape.chunk) * (2 * n - 1);
}

// Three instructions: prepare the own part, send it, add the other rank's. Both ranks add in the order of
// their positions, and so get the same bits.
XYLEM_SHARED inline Instruction exchangeAt(const Shape& shape, std::uint64_t index) {
  // The own part as both ranks add it. If it has to be scaled, or if the result takes its place, a copy in
  // the output is sent, which changes before the other rank has read it.
  const bool ready = !shape.inPlace && !shape.scales;
  const Place own = ready ? inInput(shape.offset) : inOutput(shape.offset);
  if (index == 0) return Instruction::copy(inInput(shape.offset), own, ready ? 0 : shape.count);
  if (index == 1) {
    Instruction send = Instruction::send(kNext, own, shape.count);
    send.changes = !ready;
    return send;
  }
  Instruction last = Instruction::recvReduceCopy(kPrevious, own, inOutput(shape.offset), shape.count);
  last.ownFirst = shape.position == 0;
  return last;
}

// A round has 2n-1 turns. If rounds overlap, each begins when the one before has made n-1 of its own. So up to three chunks are on their way
// from a rank to the next one, and chunks are shorter than otherwise. With two ranks: 00 10 01 20 11 02 21 12 22; with three:
// 00 01 10 02 11 03 20 12 04 21 13 22 14 23 24.
XYLEM_SHARED inline Turn allReduceTurn(const Shape& shape, std::uint64_t index, std::size_t roundElements) {
  const auto half = static_cast<std::uint64_t>(shape.ranks - 1);
  const std::uint64_t length = 2 * half + 1;
  const auto at = [](std::uint64_t round, std::uint64_t turn) { return Turn{round, static_cast<int>(turn)}; };
  if (!shape.overlaps) {
    const std::uint64_t round = quotient(index, length);
    return at(round, index - round * length);
  }
  // Round 0 is alone, ...
  if (index < half || roundElements >= shape.count) return at(0, index);
  index -= half;
  // ... then round 1 begins, ...
  if (index < 2 * half) return index % 2 == 0 ? at(1, index / 2) : at(0, half + index / 2);
  index -= 2 * half;
  // ... and from then on, with each further round, come its first half, the second half of the one before, and the end of the one before that.
  const std::uint64_t further = quotient(index, length);
  const std::uint64_t place = index - further * length, round = further + 2;
  if (round * roundElements < shape.count) {
    if (place == 2) return at(round - 2, 2 * half);
    const std::uint64_t turn = place < 2 ? place : place - 1;
    return turn % 2 == 0 ? at(round, turn / 2) : at(round - 1, half + turn / 2);
  }
  if (place == 0) return at(round - 1, half);
  return place == 1 ? at(round - 2, 2 * half) : at(round - 1, half + place - 1);
}

XYLEM_SHARED inline Instruction allReduceAt(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  if (shape.exchange) return exchangeAt(shape, index);
  const std::size_t roundElements = static_cast<std::size_t>(n) * shape.chunk;
  const auto [round, turn] = allReduceTurn(shape, index, roundElements);
  // Turn 0 starts the chunk of the rank before this one; each later turn handles the chunk before that.
  const int back = turn < n ? turn : turn - n;
  const auto chunk = static_cast<std::size_t>(around(shape.position - 1 - back, n));

  const std::size_t roundStart = round * roundElements;
  const std::size_t size = roundChunk(shape, n, roundStart);
  const std::size_t start = std::min(shape.count, roundStart + chunk * size);
  const std::size_t count = std::min(size, shape.count - start);
  const Place own = inInput(shape.offset + start);
  const Place out = inOutput(shape.offset + start);

  if (turn == 0) return Instruction::send(kNext, own, count);
  if (turn < n - 1) return Instruction::recvReduceSend(kPrevious, kNext, own, count);
  if (turn == n - 1) return Instruction::recvReduceCopySend(kPrevious, kNext, own, out, count);
  if (turn < 2 * n - 2) return Instruction::recvCopySend(kPrevious, kNext, out, count);
  return Instruction::recv(kPrevious, out, count);
}

// Whether the previous rank sends this one anything that it keeps as it is. Then at least one step comes from there.
XYLEM_SHARED inline bool receivesResults(ProgramKind kind, const Shape& shape) {
  if (shape.ranks == 1 || shape.count == 0) return false;
  return kind == ProgramKind::kRingAllGather || (kind == ProgramKind::kRingAllReduce && !shape.exchange) ||
         (kind == ProgramKind::kRingBroadcast && shape.rank != shape.root);
}

XYLEM_SHARED inline std::uint64_t chainLength(const Shape& shape) { return pieces(shape); }

// Broadcast. The root's data goes along the ring to the rank before the root.
XYLEM_SHARED inline Instruction broadcastAt(const Shape& shape, std::uint64_t index) {
  if (shape.ranks == 1) return copyOwn(shape, index);
  const Piece p = piece(shape, index);
  const Place own = inInput(p.offset);
  const Place out = inOutput(p.offset);
  if (shape.rank == shape.root)
    return shape.inPlace ? Instruction::sendBlock(kNext, own, out, p.count)
                         : Instruction::copySend(kNext, own, out, p.count);
  if (shape.order[around(shape.position + 1, shape.ranks)] == shape.root)
    return Instruction::recv(kPrevious, out, p.count);
  return Instruction::recvCopySend(kPrevious, kNext, out, p.count);
}

// Reduce. Partial results go along the ring from the rank after the root to the root, which alone writes
// anything.
XYLEM_SHARED inline Instruction reduceAt(const Shape& shape, std::uint64_t index) {
  if (shape.ranks == 1) return copyOwn(shape, index);
  const Piece p = piece(shape, index);
  const Place own = inInput(p.offset);
  if (shape.rank == shape.root)
    return Instruction::recvReduceCopy(kPrevious, own, inOutput(p.offset), p.count);
  if (shape.order[around(shape.position - 1, shape.ranks)] == shape.root)
    return Instruction::send(kNext, own, p.count);
  return Instruction::recvReduceSend(kPrevious, kNext, own, p.count);
}

}  // namespace xylem::collectives::ring
