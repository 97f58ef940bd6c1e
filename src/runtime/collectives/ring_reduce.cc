// Ring Reduce: partial results go along the ring, piece by piece, from the rank after the root to the root.
// Only the root writes anything.

#include "runtime/collectives/pieces.h"
#include "runtime/collectives/programs.h"

namespace xylem {
namespace {

constexpr QueueMask kPrevious = queue(0);
constexpr QueueMask kNext = queue(0);

std::uint64_t length(const Shape& shape) { return pieces(shape); }

Instruction at(const Shape& shape, std::uint64_t index) {
  if (shape.ranks == 1) return copyOwn(shape, index);
  const Piece p = piece(shape, index);
  const Place own = inInput(p.offset);
  if (shape.rank == shape.root)
    return Instruction::recvReduceCopy(kPrevious, own, inOutput(p.offset), p.count);
  if (shape.order[around(shape.position - 1, shape.ranks)] == shape.root)
    return Instruction::send(kNext, own, p.count);
  return Instruction::recvReduceSend(kPrevious, kNext, own, p.count);
}

}  // namespace

constexpr Program kRingReduce{&length, &at};

}  // namespace xylem
