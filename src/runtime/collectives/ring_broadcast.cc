// Ring Broadcast: the root's data goes along the ring, piece by piece, to the rank before the root.

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
  const Place out = inOutput(p.offset);
  if (shape.rank == shape.root)
    return shape.inPlace ? Instruction::send(kNext, own, p.count)
                         : Instruction::copySend(kNext, own, out, p.count);
  if (shape.order[around(shape.position + 1, shape.ranks)] == shape.root)
    return Instruction::recv(kPrevious, out, p.count);
  return Instruction::recvCopySend(kPrevious, kNext, out, p.count);
}

}  // namespace

constexpr Program kRingBroadcast{&length, &at};

}  // namespace xylem
