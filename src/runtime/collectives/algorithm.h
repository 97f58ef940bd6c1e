#pragma once
// The algorithms, as functions from where a rank stands to its instructions. Nothing here moves data.
//
//   for (const Program& program : programsOf(Collective::kAllReduce, Algorithm::kTree))
//     for (std::uint64_t i = 0; i < program.length(shape); ++i) ... program.at(shape, i) ...
//
// Programs of one operation run at the same time, each on a lane of its own; their order among each other
// means nothing. Instructions of one program run in order.
//
// What programs promise to whoever executes them, and tests/runtime/collectives/program_test.cc shows:
//  - They never come to a standstill on queues of kQueueSteps = 8 steps if `chunk` is at most kStepsPerChunk
//    = 4 steps long. (All ranks start a ring by sending a whole chunk before anybody receives; PAT has two on
//    their way, or more of shorter ones.)
//  - What was sent from the input or the output does not change before its receiver has it, so that it may be
//    sent by reference. What was sent from scratch may change at once.
//  - The input is left alone, but for what lies in place.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/collectives/instruction.h"
#include "core/kinds.h"

namespace xylem {

// Steps that an instruction's chunk may take.
constexpr std::size_t kStepsPerChunk = 4;

// An operation's part on one channel, as one rank sees it. Counts and offsets in elements.
struct Shape {
  int ranks = 1;
  int rank = 0;
  // Rings: this rank's position, and all ranks by position (position 0 is order[0]).
  int position = 0;
  const int* order = nullptr;
  int root = 0;  // a rank: Broadcast, Reduce
  // Trees, chains: which of the queues exist: bit 0 up, bits 1 to 3 down.
  std::uint32_t treePeers = 0;

  std::size_t offset = 0;  // where this channel's part starts in a rank's block
  std::size_t count = 0;   // its length
  std::size_t block = 0;   // elements of a rank's whole block, between one rank's and the next: AllGather's
                           // output, ReduceScatter's input
  std::size_t chunk = 1;   // elements that an instruction moves at most
  std::size_t grain = 1;   // chunks are multiples of this, but for the last one
  // AllReduce, Reduce and Broadcast: the buffers are one. AllGather: the input is the rank's block of the
  // output. ReduceScatter: the output is the rank's block of the input.
  bool inPlace = false;
  // Own elements are scaled on their way in.
  bool scales = false;
  // Ring AllReduce of two ranks, no longer than a chunk: both send everything at once, instead of one waiting
  // for the other's part.
  bool exchange = false;
};

struct Program {
  std::uint64_t (*length)(const Shape& shape) = nullptr;
  Instruction (*at)(const Shape& shape, std::uint64_t index) = nullptr;
};

// The queues, by bit: rings: 0 is the previous (from) and the next rank (to). Trees: 0 up, 1 to 3 down; the
// same in chains to a network that reduces, which is up at their heads. PAT:
// k is the rank 2^k away; AllGather sends upwards, ReduceScatter downwards. Empty if there is no such
// algorithm for the collective.
std::span<const Program> programsOf(Collective collective, Algorithm algorithm);

// Elements of scratch that the programs need.
std::size_t scratchOf(Collective collective, Algorithm algorithm, const Shape& shape);

}  // namespace xylem
