#pragma once
// Helpers of the algorithms' programs: they walk over an operation's part in pieces of one chunk, and around rings.
//
//   for (std::uint64_t i = 0; i < pieces(shape); ++i) {
//     const Piece p = piece(shape, i);
//     send(inInput(p.offset), p.count);
//   }

#include <algorithm>

#include "core/shared_code.h"
#include "runtime/collectives/algorithm.h"

namespace xylem::collectives {

// a / b. Skips the division where a < b, as small operations are frequent, and takes a shorter one where it can: on GPUs that of two
// numbers of 64 bits takes half a microsecond.
XYLEM_SHARED constexpr std::uint64_t quotient(std::uint64_t a, std::uint64_t b) {
  if (a < b) return 0;
  return a >> 32 == 0 ? static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b) : a / b;
}
// The same, rounded up.
XYLEM_SHARED constexpr std::uint64_t divideUp(std::uint64_t a, std::uint64_t b) {
  return a <= b ? std::uint64_t{a > 0} : quotient(a + b - 1, b);
}

// A stretch of a rank's block; `offset` counts from the start of the block.
struct Piece {
  std::size_t offset = 0;
  std::size_t count = 0;
};

// The part of an operation in pieces of `chunk` elements; the last piece may be shorter.
XYLEM_SHARED inline std::uint64_t pieces(const Shape& shape, std::size_t chunk) {
  return divideUp(shape.count, chunk);
}
XYLEM_SHARED inline Piece piece(const Shape& shape, std::size_t chunk, std::uint64_t index) {
  const std::size_t start = index * chunk;
  return {shape.offset + start, std::min(chunk, shape.count - start)};
}
XYLEM_SHARED inline std::uint64_t pieces(const Shape& shape) { return pieces(shape, shape.chunk); }
XYLEM_SHARED inline Piece piece(const Shape& shape, std::uint64_t index) {
  return piece(shape, shape.chunk, index);
}

// Rounds of `parts` chunks each, as in a ring's AllReduce; the chunks of the last round shrink, so that every part has some of
// it. The length of the chunks in the round that starts at `start`:
XYLEM_SHARED inline std::size_t roundChunk(const Shape& shape, int parts, std::size_t start) {
  const auto n = static_cast<std::size_t>(parts);
  const std::size_t left = shape.count - start;
  if (left >= n * shape.chunk) return shape.chunk;
  return std::min<std::size_t>(shape.chunk, divideUp(divideUp(left, n), shape.grain) * shape.grain);
}

// `value` modulo `n`, for values from -n to 2n - 1.
constexpr int around(int value, int n) { return value < 0 ? value + n : value >= n ? value - n : value; }

XYLEM_SHARED inline std::size_t blockStart(const Shape& shape, int rank) {
  return static_cast<std::size_t>(rank) * shape.block;
}

// Every collective of a single rank: the result is its own data.
XYLEM_SHARED inline Instruction copyOwn(const Shape& shape, std::uint64_t index) {
  const Piece p = piece(shape, index);
  return Instruction::copy(inInput(p.offset), inOutput(p.offset), p.count);
}

}  // namespace xylem::collectives
