#pragma once
// Rules for all executors of programs, so that they get the same bits and both ends of a queue agree: how instructions are cut
// into slices of one step, and in which order the data of a slice is combined.
//
//   for (std::size_t done = 0; done < now.count; done += n) {
//     n = sliceAt(now, done, sliceElements(stepBytes, mostBytes, elementBytes));
//     for (int i = 0; i < incoming; ++i) apply(combinationAt(now, i, incoming), i);   // own = incoming[i] (op) own
//   }

#include <algorithm>
#include <cstddef>

#include "core/shared_code.h"
#include "runtime/collectives/instruction.h"

namespace xylem::collectives {

// The elements of a step. `stepBytes`: what a step of every queue of the program carries. `mostBytes`: a limit that all ranks
// have agreed on, as both ends of a queue must cut alike.
constexpr std::size_t sliceElements(std::size_t stepBytes, std::size_t mostBytes, std::size_t elementBytes) {
  return std::min(stepBytes, mostBytes) / elementBytes;
}

// The length of the slice of an instruction that follows after the first `done` elements. Without queues nothing has to be cut.
XYLEM_SHARED inline std::size_t sliceAt(const Instruction& instruction, std::size_t done, std::size_t slice) {
  const std::size_t left = instruction.count - done;
  return (instruction.from | instruction.to) == 0 ? left : std::min(left, slice);
}

// One of the combinations of a slice: incoming data of a queue with the rank's own data, or with the result of the combination
// before it.
struct Combination {
  bool raw = false;  // own data is as the rank has it: it is scaled on its way in, if the operation scales
  bool ownLeft = false;   // own data is the left operand
  bool finishes = false;  // the result is complete
};
// The queues are combined in the order of their bits; `i` counts them.
XYLEM_SHARED inline Combination combinationAt(const Instruction& instruction, std::size_t i,
                                              std::size_t incoming) {
  Combination c;
  c.ownLeft = i == 0 && instruction.ownFirst;
  c.raw = i == 0 && instruction.own.buffer == Buffer::kInput && !instruction.ownFirst;
  c.finishes = instruction.finish && i + 1 == incoming;
  return c;
}

}  // namespace xylem::collectives
