#pragma once
// The memory that the threads of a block share: the slice that the movers work on, the next one, which the waiter prepares meanwhile, and
// where the block stands in its queues.
//
//   if (!keepWaiting(m, block, spins, peer)) return false;    // in every loop that waits for a peer

#include "core/shared_code.h"
#include "runtime/collectives/programs.h"
#include "runtime/collectives/slices.h"
#include "runtime/gpu/machine.h"
#include "runtime/gpu/work.h"

namespace xylem::gpu {

enum class SliceKind : std::uint32_t {
  kMove,
  kEnd,   // the program is done
  kStop,  // the block gives up
};

struct Slice {
  SliceKind kind = SliceKind::kMove;
  bool enters = false;  // own elements are scaled, and not combined
  bool moves = false;   // there is something to do for the movers
  bool places = false;  // `to` is the peers' outputs, not slots
  int incoming = 0;     // queues
  int outgoing = 0;
  int steps = 1;   // that it has in each queue
  int stores = 0;  // the slots of those to store to: all or none
  std::size_t bytes = 0;
  const std::byte* reference = nullptr;  // where the peers find the data; null: in slots
  collectives::Instruction now;
  const std::byte* own = nullptr;  // null: none
  std::byte* out = nullptr;
  // By the order of the queues' bits: the slots, or the data in the peer's buffer, and the numbers of the steps.
  int fromQueue[kMaxFan]{};
  int toQueue[kMaxFan]{};
  const std::byte* from[kMaxFan]{};
  std::byte* to[kMaxFan]{};
  std::uint64_t fromStep[kMaxFan]{};
  std::uint64_t toStep[kMaxFan]{};
};

struct Block {
  alignas(16) std::byte record[kMostRecordBytes];  // of the table
  Work work;                                       // with its ends here
  QueueEnd from[kMaxQueues];
  QueueEnd to[kMaxQueues];
  Slice slices[kSlices];
  collectives::Instruction instructions[32];  // the next ones, as many as a warp has threads
  std::uint64_t fromStep[kMaxQueues];         // the next step of each queue
  std::uint64_t toStep[kMaxQueues];
  // The waiter has seen these: counters, and the notes of steps before `tail` (region and bytes, and the address), by their slots.
  std::uint64_t fromTail[kMaxQueues];
  std::uint64_t toHead[kMaxQueues];
  std::uint64_t fromNotes[kMaxQueues][transport::kQueueSteps];
  std::uint64_t fromAddresses[kMaxQueues][transport::kQueueSteps];
  std::uint64_t fromBegin[kMaxQueues];  // the same when the work began
  std::uint64_t toBegin[kMaxQueues];
  std::uint64_t toReferred[kMaxQueues];  // 1 + the last step that is a reference; 0: none is
  // The output that the reader has offered for this work, 0: not known yet, and its bytes; the looks at the offer.
  std::uint64_t toOutput[kMaxQueues];
  std::uint64_t toOutputBytes[kMaxQueues];
  std::uint32_t toLooks[kMaxQueues];
  int order[kMostInOrder];  // of the work's shape, if that is not longer
  std::uint32_t outcome;    // an Outcome: kRunning until the block gives up; any thread may set and read it
};

// Threads of a block on NVIDIA's GPUs: a warp that waits, one that posts, and 512 threads that move data, whose 16 bytes each go into
// the size of a step without a rest.
constexpr int kBlockThreads = 32 + 512 + 32;

constexpr std::uint32_t kBlockRuns = static_cast<std::uint32_t>(Outcome::kRunning);

// For threads that wait for a peer, between two looks: returns false if the block gives up. Says after a while for whom the
// thread waits; `peer` is kNoPeer if it waits for other threads of its warp.
template <Machine M>
XYLEM_KERNEL inline bool keepWaiting(M& m, Block& block, unsigned& spins, int peer) {
  m.pause();
  if (++spins % M::kSpinsPerLook != 0) return true;
  if (peer != kNoPeer && spins % M::kSpinsPerReport == 0)
    m.storeRelaxed(&block.work.report->waitsFor, static_cast<std::uint32_t>(peer + 1));
  if (m.loadRelaxed(&block.outcome) != kBlockRuns) return false;
  if (m.loadRelaxed(block.work.abort) == 0) return true;
  m.storeRelaxed(&block.outcome, static_cast<std::uint32_t>(Outcome::kAborted));
  return false;
}

// For a thread that has waited `spins` times.
template <Machine M>
XYLEM_KERNEL inline void waitedFor(M& m, Block& block, unsigned spins) {
  if (spins >= static_cast<unsigned>(M::kSpinsPerReport)) m.storeRelaxed(&block.work.report->waitsFor, 0u);
}

}  // namespace xylem::gpu
