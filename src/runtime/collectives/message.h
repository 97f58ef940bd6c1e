#pragma once
// One message between two ranks as programs: the sender's, the receiver's, and that of a rank that sends to itself. A message is
// `Shape::count` elements, cut into steps. On the host device a Transfer (transfer.h) does the same, and also sends by reference.

#include "core/shared_code.h"
#include "runtime/collectives/algorithm.h"

namespace xylem::collectives::message {

XYLEM_SHARED inline std::uint64_t length(const Shape&) { return 1; }

XYLEM_SHARED inline Instruction sendAt(const Shape& shape, std::uint64_t) {
  return Instruction::send(queue(0), inInput(shape.offset), shape.count);
}
XYLEM_SHARED inline Instruction recvAt(const Shape& shape, std::uint64_t) {
  return Instruction::recv(queue(0), inOutput(shape.offset), shape.count);
}
XYLEM_SHARED inline Instruction copyAt(const Shape& shape, std::uint64_t) {
  return Instruction::copy(inInput(shape.offset), inOutput(shape.offset), shape.count);
}

}  // namespace xylem::collectives::message
