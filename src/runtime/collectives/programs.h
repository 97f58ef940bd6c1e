#pragma once
// The algorithms' programs by name. programsOf (algorithm.h) chooses among those of collectives. The host device calls a
// program's functions; a GPU's kernel cannot call the host's function pointers and asks by the program's kind.
//
//   const Instruction first = kRingAllReduce.at(shape, 0);                              // on the host
//   const Instruction same = instructionAt(ProgramKind::kRingAllReduce, shape, 0);      // anywhere

#include "core/shared_code.h"
#include "runtime/collectives/message.h"
#include "runtime/collectives/pat.h"
#include "runtime/collectives/ring.h"
#include "runtime/collectives/star.h"
#include "runtime/collectives/tree.h"

namespace xylem::collectives {

// One row per program: its name, and the functions of its length and of the instruction at a place. The two of Tree are an
// AllReduce together; at the root, the first one does all of the work.
#define XYLEM_PROGRAMS(ROW)                                                 \
  ROW(RingAllReduce, ring::allReduceLength, ring::allReduceAt)              \
  ROW(RingAllGather, ring::allGatherLength, ring::allGatherAt)              \
  ROW(RingReduceScatter, ring::reduceScatterLength, ring::reduceScatterAt)  \
  ROW(RingBroadcast, ring::chainLength, ring::broadcastAt)                  \
  ROW(RingReduce, ring::chainLength, ring::reduceAt)                        \
  ROW(TreeReduceUp, tree::lengthUp, tree::atUp)                             \
  ROW(TreeBroadcastDown, tree::lengthDown, tree::atDown)                    \
  ROW(PatAllGather, pat::gatherLength, pat::gatherAt)                       \
  ROW(PatReduceScatter, pat::scatterLength, pat::scatterAt)                 \
  ROW(StarContribute, star::contributeLength, star::contributeAt)           \
  ROW(StarReduce, star::reduceLength, star::reduceAt)                       \
  ROW(StarPass, star::passLength, star::passAt)                             \
  ROW(StarCollect, star::contributeLength, star::collectAt)                 \
  ROW(StarGatherSend, star::gatherSendLength, star::gatherSendAt)           \
  ROW(StarGatherPass, star::gatherPassLength, star::gatherPassAt)           \
  ROW(StarGatherCollect, star::blocksLength, star::gatherCollectAt)         \
  ROW(StarScatterContribute, star::blocksLength, star::scatterContributeAt) \
  ROW(StarScatterReduce, star::scatterReduceLength, star::scatterReduceAt)  \
  ROW(StarScatterKeep, star::scatterKeepLength, star::scatterKeepAt)        \
  ROW(SendMessage, message::length, message::sendAt)                        \
  ROW(RecvMessage, message::length, message::recvAt)                        \
  ROW(CopyMessage, message::length, message::copyAt)

#define XYLEM_PROGRAM(NAME, LENGTH, AT) inline constexpr Program k##NAME{&LENGTH, &AT, ProgramKind::k##NAME};
XYLEM_PROGRAMS(XYLEM_PROGRAM)
#undef XYLEM_PROGRAM

XYLEM_SHARED inline std::uint64_t lengthOf(ProgramKind kind, const Shape& shape) {
  switch (kind) {
#define XYLEM_PROGRAM(NAME, LENGTH, AT) \
  case ProgramKind::k##NAME:            \
    return LENGTH(shape);
    XYLEM_PROGRAMS(XYLEM_PROGRAM)
#undef XYLEM_PROGRAM
  }
  return 0;
}

XYLEM_SHARED inline Instruction instructionAt(ProgramKind kind, const Shape& shape, std::uint64_t index) {
  switch (kind) {
#define XYLEM_PROGRAM(NAME, LENGTH, AT) \
  case ProgramKind::k##NAME:            \
    return AT(shape, index);
    XYLEM_PROGRAMS(XYLEM_PROGRAM)
#undef XYLEM_PROGRAM
  }
  return {};
}
#undef XYLEM_PROGRAMS

// The queues from which results come that the rank keeps as they are (Instruction::there), at least one step of each. Only programs in
// which no rank still needs what a result takes the place of: every rank's part is in the result by then.
inline QueueMask resultsFrom(ProgramKind kind, const Shape& shape) {
  if (ring::receivesResults(kind, shape)) return ring::kPrevious;
  return kind == ProgramKind::kTreeBroadcastDown && shape.count > 0 ? shape.treePeers & tree::kUp : 0;
}
// The elements of the output up to the end of the last result that comes so.
inline std::size_t outputElements(ProgramKind kind, const Shape& shape) {
  const std::size_t end = shape.offset + shape.count;
  return kind == ProgramKind::kRingAllGather ? blockStart(shape, shape.ranks - 1) + end : end;
}

}  // namespace xylem::collectives
