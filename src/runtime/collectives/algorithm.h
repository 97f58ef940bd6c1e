#pragma once
// The algorithms, as functions from a rank's position in an operation to its instructions. Nothing here moves
// data.
//
//   for (const Program& program : programsOf(Function::kAllReduce, Algorithm::kTree))
//     for (std::uint64_t i = 0; i < program.length(shape); ++i) print(program.at(shape, i));
//
// Programs of one operation run at the same time, each on an executor of its own, in any order among each
// other. The instructions of one program run in order.
//
// Promises of programs to their executors (tests/runtime/collectives/program_test.cc holds them to it):
//  - They never deadlock on queues of kQueueSteps = 8 steps if `chunk` is at most stepsPerChunk() long.
//    (Where two pieces of a ring meet, all ranks have sent two whole chunks before any of them receives; PAT
//    has two chunks on their way, or more of shorter ones. A ring's AllReduce has up to three, of one step:
//    two would not deadlock, but ranks would wait for space.)
//  - Data sent from the input or the output does not change before its receiver has it, so that it may be
//    sent by reference. Data sent from scratch may change at once.
//  - They write to the input only where the output lies in it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/kinds.h"
#include "runtime/collectives/instruction.h"

namespace xylem::collectives {

// Steps that an instruction's chunk may take.
constexpr std::size_t kStepsPerChunk = 4;
// `overlaps`: Shape::overlaps.
constexpr std::size_t stepsPerChunk(Function function, Algorithm algorithm, bool overlaps) {
  return function == Function::kAllReduce && algorithm == Algorithm::kRing && overlaps ? 1 : kStepsPerChunk;
}

// An operation's part on one channel, as one rank sees it. Counts and offsets are in elements.
struct Shape {
  int ranks = 1;
  int rank = 0;
  // Rings: this rank's position, and all ranks by position (position 0 is order[0]).
  int position = 0;
  const int* order = nullptr;
  int root = 0;  // a rank: Broadcast, Reduce
  // Trees, chains: which of the queues exist: bit 0 up, bits 1 to 3 down.
  std::uint32_t treePeers = 0;

  // Stars (star.h): the ranks of this rank's host are members 0, 1, ..., some of them heads.
  int members = 1, member = 0;
  int head = -1;                     // this rank's number among the heads; -1 if it is none
  int heads = 0;
  const int* headMembers = nullptr;  // the members that are heads, by number
  int hosts = 1;                     // whose heads a network joins
  const int* grid = nullptr;         // by host and member: grid[host * members + member] is a rank

  std::size_t offset = 0;  // where this channel's part starts in a rank's block
  std::size_t count = 0;   // its length
  // Length of a rank's whole block: the distance between two ranks' blocks in AllGather's output and
  // ReduceScatter's input.
  std::size_t block = 0;
  std::size_t chunk = 1;  // the most that an instruction moves
  std::size_t grain = 1;  // chunks are multiples of this, except for the last one
  // AllReduce, Reduce and Broadcast: both buffers are the same. AllGather: the input is the rank's block of
  // the output. ReduceScatter: the output is the rank's block of the input.
  bool inPlace = false;
  // Own elements are scaled on their way in.
  bool scales = false;
  // Ring AllReduce: a round begins in the middle of the one before. On one host; over a network few long chunks are faster.
  bool overlaps = false;
  // Ring AllReduce of two ranks, no longer than a chunk: both send everything at once, instead of one waiting
  // for the other's part.
  bool exchange = false;
};

// Programs by number (programs.h).
enum class ProgramKind : std::uint8_t {
  kRingAllReduce,
  kRingAllGather,
  kRingReduceScatter,
  kRingBroadcast,
  kRingReduce,
  kTreeReduceUp,
  kTreeBroadcastDown,
  kPatAllGather,
  kPatReduceScatter,
  kStarContribute,
  kStarReduce,
  kStarPass,
  kStarCollect,
  kStarGatherSend,
  kStarGatherPass,
  kStarGatherCollect,
  kStarScatterContribute,
  kStarScatterReduce,
  kStarScatterKeep,
  kSendMessage,
  kRecvMessage,
  kCopyMessage,
};

struct Program {
  std::uint64_t (*length)(const Shape& shape) = nullptr;  // instructions
  Instruction (*at)(const Shape& shape, std::uint64_t index) = nullptr;
  ProgramKind kind = ProgramKind::kCopyMessage;
};

// The algorithms that go through the heads of hosts (star.h).
constexpr bool isStar(Algorithm algorithm) {
  return algorithm == Algorithm::kCollnetDirect || isNvls(algorithm);
}

// Most programs of a collective at the same time.
constexpr std::size_t kMostPrograms = 4;

// The programs of an algorithm; empty if the collective has no such algorithm. Their queues by number:
//
//   rings    0 is the previous rank (from) and the next one (to)
//   trees    0 is up, 1 to 3 are down; likewise in chains to a network that reduces, which is up at their heads
//   stars    as trees, and from kFirstMember on the members of the host, once for contributions to the heads and once for results
//            (starQueues, star.h)
//   PAT      k is the rank 2^k away; AllGather sends upwards, ReduceScatter downwards
std::span<const Program> programsOf(Function function, Algorithm algorithm);

// Elements of scratch that the programs need.
std::size_t scratchOf(Function function, Algorithm algorithm, const Shape& shape);

}  // namespace xylem::collectives
