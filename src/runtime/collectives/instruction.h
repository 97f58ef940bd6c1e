#pragma once
// An algorithm is a sequence of instructions. They are computed one at a time from the rank's position in the
// operation, without looking at any data, and executed on the host device by a ProgramExecutor, which cuts
// them into steps of the queues.
//
//   Instruction::recvReduceSend(queue(0), queue(0), inInput(offset), count)
//
// An instruction takes `count` elements from every queue in `from`, combines them with `own` if it has one,
// writes the result to `out` if it has one, and sends it to every queue in `to`. Without `from`, the value is
// `own`. The words are NCCL's.

#include <cstddef>
#include <cstdint>

namespace xylem::collectives {

enum class Buffer : std::uint8_t {
  kNone,
  kInput,    // the operation's send buffer: raw elements, scaled on their way in if the operation scales
  kOutput,   // its receive buffer
  kScratch,  // the executor's memory for partial results
};

struct Place {
  Buffer buffer = Buffer::kNone;
  std::size_t offset = 0;  // elements

  explicit constexpr operator bool() const { return buffer != Buffer::kNone; }
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

constexpr Place inInput(std::size_t offset) { return {Buffer::kInput, offset}; }
constexpr Place inOutput(std::size_t offset) { return {Buffer::kOutput, offset}; }
constexpr Place inScratch(std::size_t offset) { return {Buffer::kScratch, offset}; }

// A set of queues: bit i is queue i of the executor.
using QueueMask = std::uint32_t;
constexpr QueueMask queue(int index) { return QueueMask{1} << index; }

struct Instruction {
  QueueMask from = 0;
  QueueMask to = 0;
  Place own;
  Place out;
  Place there;  // where all receivers keep what is sent, in their output; none: they do not keep it as it is
  std::size_t count = 0;  // elements; 0: nothing moves
  bool finish = false;    // the result is complete: averages of integers are divided here
  // `own`, already scaled, is the left operand: two ranks that combine the same two values do so in the same
  // order.
  bool ownFirst = false;
  bool changes = false;  // the data sent changes before its receiver has it, so it must not go by reference

  static constexpr Instruction copy(Place own, Place out, std::size_t count) {
    return {.own = own, .out = out, .count = count};
  }
  static constexpr Instruction send(QueueMask to, Place own, std::size_t count) {
    return {.to = to, .own = own, .count = count};
  }
  static constexpr Instruction copySend(QueueMask to, Place own, Place out, std::size_t count) {
    return {.to = to, .own = own, .out = out, .there = out, .count = count};
  }
  // A block of the output that is in its place here already.
  static constexpr Instruction sendBlock(QueueMask to, Place own, Place there, std::size_t count) {
    return {.to = to, .own = own, .there = there, .count = count};
  }
  static constexpr Instruction recv(QueueMask from, Place out, std::size_t count) {
    return {.from = from, .out = out, .count = count};
  }
  static constexpr Instruction recvCopySend(QueueMask from, QueueMask to, Place out, std::size_t count) {
    return {.from = from, .to = to, .out = out, .there = out, .count = count};
  }
  // The result is partial: it is sent on, or kept in `out`.
  static constexpr Instruction recvReduceSend(QueueMask from, QueueMask to, Place own, std::size_t count) {
    return {.from = from, .to = to, .own = own, .count = count};
  }
  static constexpr Instruction recvReduceKeep(QueueMask from, Place own, Place out, std::size_t count) {
    return {.from = from, .own = own, .out = out, .count = count};
  }
  // The result is complete.
  static constexpr Instruction recvReduceCopy(QueueMask from, Place own, Place out, std::size_t count) {
    return {.from = from, .own = own, .out = out, .count = count, .finish = true};
  }
  static constexpr Instruction recvReduceCopySend(QueueMask from, QueueMask to, Place own, Place out,
                                                  std::size_t count) {
    return {.from = from, .to = to, .own = own, .out = out, .there = out, .count = count, .finish = true};
  }
};

}  // namespace xylem::collectives
