// Ring ReduceScatter: the block of every rank goes round the ring once, piece by piece, from the rank after
// its owner to the owner, while every rank adds its part.

#include "runtime/collectives/pieces.h"
#include "runtime/collectives/programs.h"

namespace xylem {
namespace {

constexpr QueueMask kPrevious = queue(0);
constexpr QueueMask kNext = queue(0);

// A turn per rank and piece.
std::uint64_t length(const Shape& shape) { return pieces(shape) * static_cast<std::uint64_t>(shape.ranks); }

Instruction at(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  const auto turns = static_cast<std::uint64_t>(n);
  const std::uint64_t round = index < turns ? 0 : index / turns;
  const int turn = static_cast<int>(index - round * turns);
  const Piece p = piece(shape, round);
  const int owner = shape.order[around(shape.position - 1 - turn, n)];
  const Place own = inInput(blockStart(shape, owner) + p.offset);

  if (turn == 0) return Instruction::send(kNext, own, p.count);
  if (turn < n - 1) return Instruction::recvReduceSend(kPrevious, kNext, own, p.count);
  return Instruction::recvReduceCopy(kPrevious, own, inOutput(p.offset), p.count);
}

}  // namespace

constexpr Program kRingReduceScatter{&length, &at};

}  // namespace xylem
