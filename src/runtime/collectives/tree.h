#pragma once
// Tree AllReduce: partial results go up to the root, piece by piece, while complete pieces come down. The two
// directions are programs of their own, which run at the same time; the root turns a partial result into a
// complete one. It alone completes results, so every rank receives the same bits.

#include "core/shared_code.h"
#include "runtime/collectives/pieces.h"

namespace xylem::collectives::tree {

constexpr QueueMask kUp = queue(0);
constexpr QueueMask kDown = queue(1) | queue(2) | queue(3);

XYLEM_SHARED inline bool isRoot(const Shape& shape) { return (shape.treePeers & kUp) == 0; }

XYLEM_SHARED inline std::uint64_t lengthUp(const Shape& shape) { return pieces(shape); }

// Leaves send, inner ranks add and send on, the root completes and sends the result down.
XYLEM_SHARED inline Instruction atUp(const Shape& shape, std::uint64_t index) {
  const QueueMask down = shape.treePeers & kDown;
  const Piece p = piece(shape, index);
  const Place own = inInput(p.offset);
  if (isRoot(shape)) {
    if (down == 0) return copyOwn(shape, index);
    return Instruction::recvReduceCopySend(down, down, own, inOutput(p.offset), p.count);
  }
  if (down == 0) return Instruction::send(kUp, own, p.count);
  return Instruction::recvReduceSend(down, kUp, own, p.count);
}

// Empty at the root, which sends results down in the first program.
XYLEM_SHARED inline std::uint64_t lengthDown(const Shape& shape) { return isRoot(shape) ? 0 : pieces(shape); }

XYLEM_SHARED inline Instruction atDown(const Shape& shape, std::uint64_t index) {
  const QueueMask down = shape.treePeers & kDown;
  const Piece p = piece(shape, index);
  const Place out = inOutput(p.offset);
  return down == 0 ? Instruction::recv(kUp, out, p.count)
                   : Instruction::recvCopySend(kUp, down, out, p.count);
}

}  // namespace xylem::collectives::tree
