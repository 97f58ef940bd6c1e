// PAT AllGather: every block goes down its tree, over long edges first.

#include "runtime/collectives/pat.h"
#include "runtime/collectives/programs.h"

namespace xylem {
namespace {

std::uint64_t length(const Shape& shape) {
  return shape.ranks == 1 ? pieces(shape) : pieces(shape) * patTransfers(shape.ranks);
}

Instruction at(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  const PatStep step = patStep(shape, shape.chunk, PatOrder::kLongFirst, index);
  const std::size_t count = step.piece.count;
  const int owner = around(shape.rank - (step.sends ? step.near : step.far), n);
  const Place block = inOutput(blockStart(shape, owner) + step.piece.offset);
  if (!step.sends) return Instruction::recv(queue(step.phase), block, count);
  if (step.near > 0) return Instruction::send(queue(step.phase), block, count);
  const Place own = inInput(step.piece.offset);
  // The longest edge is the first one that the rank's own block takes.
  const bool copies = !shape.inPlace && step.phase == patPhases(n) - 1;
  return copies ? Instruction::copySend(queue(step.phase), own, block, count)
                : Instruction::send(queue(step.phase), own, count);
}

}  // namespace

constexpr Program kPatAllGather{&length, &at};

}  // namespace xylem
