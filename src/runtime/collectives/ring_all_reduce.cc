// Ring AllReduce: each chunk goes round the ring twice, once while every rank adds its part, once while every
// rank keeps the result. With n ranks, a rank sends 2(n-1)/n of its data, which is the least possible.
//
// A large part is worked through in rounds of one chunk per rank; the last round's chunks shrink, so that all
// ranks have some of it. The rank before the chunk's owner starts it, and the owner adds the last part: every
// rank receives the same bits.
//
// Two ranks with little data exchange it instead: a message takes longer to arrive than the data to be added
// twice.

#include "runtime/collectives/pieces.h"
#include "runtime/collectives/programs.h"

namespace xylem {
namespace {

constexpr QueueMask kPrevious = queue(0);
constexpr QueueMask kNext = queue(0);

std::uint64_t length(const Shape& shape) {
  if (shape.ranks == 1) return pieces(shape);
  if (shape.exchange) return 3;
  const auto n = static_cast<std::uint64_t>(shape.ranks);
  return divideUp(shape.count, n * shape.chunk) * (2 * n - 1);
}

// Of the round that starts at `start`.
std::size_t chunkOf(const Shape& shape, std::size_t start) {
  const auto n = static_cast<std::size_t>(shape.ranks);
  const std::size_t left = shape.count - start;
  if (left >= n * shape.chunk) return shape.chunk;
  return std::min<std::size_t>(shape.chunk, divideUp(divideUp(left, n), shape.grain) * shape.grain);
}

Instruction exchangeAt(const Shape& shape, std::uint64_t index) {
  // Its own part as both add it: where the result takes its place, it is copied on its way out.
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

Instruction at(const Shape& shape, std::uint64_t index) {
  const int n = shape.ranks;
  if (n == 1) return copyOwn(shape, index);
  if (shape.exchange) return exchangeAt(shape, index);
  const auto turns = static_cast<std::uint64_t>(2 * n - 1);
  const std::uint64_t round = index < turns ? 0 : index / turns;
  const int turn = static_cast<int>(index - round * turns);
  // Turn 0 starts the chunk of the rank before this one; each later turn handles the one before that.
  const int back = turn < n ? turn : turn - n;
  const auto chunk = static_cast<std::size_t>(around(shape.position - 1 - back, n));

  const std::size_t roundStart = round * static_cast<std::size_t>(n) * shape.chunk;
  const std::size_t size = chunkOf(shape, roundStart);
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

}  // namespace

constexpr Program kRingAllReduce{&length, &at};

}  // namespace xylem
