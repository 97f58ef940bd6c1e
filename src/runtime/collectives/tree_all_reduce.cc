// Tree AllReduce: partial results go up to the root, piece by piece, while the pieces that are complete come
// down on a lane of their own. The root turns one into the other. It alone completes results, so every rank
// receives the same bits.

#include "runtime/collectives/pieces.h"
#include "runtime/collectives/programs.h"

namespace xylem {
namespace {

constexpr QueueMask kUp = queue(0);
constexpr QueueMask kAnyDown = queue(1) | queue(2) | queue(3);

bool isRoot(const Shape& shape) { return (shape.treePeers & kUp) == 0; }

std::uint64_t lengthUp(const Shape& shape) { return pieces(shape); }

Instruction atUp(const Shape& shape, std::uint64_t index) {
  const QueueMask down = shape.treePeers & kAnyDown;
  const Piece p = piece(shape, index);
  const Place own = inInput(p.offset);
  if (isRoot(shape)) {
    if (down == 0) return copyOwn(shape, index);
    return Instruction::recvReduceCopySend(down, down, own, inOutput(p.offset), p.count);
  }
  if (down == 0) return Instruction::send(kUp, own, p.count);
  return Instruction::recvReduceSend(down, kUp, own, p.count);
}

std::uint64_t lengthDown(const Shape& shape) { return isRoot(shape) ? 0 : pieces(shape); }

Instruction atDown(const Shape& shape, std::uint64_t index) {
  const QueueMask down = shape.treePeers & kAnyDown;
  const Piece p = piece(shape, index);
  const Place out = inOutput(p.offset);
  return down == 0 ? Instruction::recv(kUp, out, p.count)
                   : Instruction::recvCopySend(kUp, down, out, p.count);
}

}  // namespace

constexpr Program kTreeReduceUp{&lengthUp, &atUp};
constexpr Program kTreeBroadcastDown{&lengthDown, &atDown};

}  // namespace xylem
