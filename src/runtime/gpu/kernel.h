#pragma once
// The kernel: a block executes the works of a lane, each of which is one program on one channel.
//
//   runLane(machine, block, table, recordBytes, lane);      // in every thread of a block of at least three warps
//
// The first warp is the waiter, the last one the poster, those between them are the movers. For each slice:
//
//   waiter   waits until the data of the slice is there and the queues have space, and describes the slice in shared memory
//              -> kReady
//   movers   move and combine the data
//              -> kMoved
//   poster   tells the peers: `tail` of queues that it sent to (Simple), `head` of those that it received from
//              -> kFree
//
// kSlices descriptions are in use, so that the waiter waits for the next slices while this one is moved, and the poster posts it
// while the next ones are moved. A slice may read what an earlier one wrote: kReady holds each mover until all movers are done with the
// slice before. The waiter takes no part in kMoved, and so never waits for the movers of this slice.
//
// Under Simple a step may be a reference: its data stays where it is, in a buffer of the operation, and the peer reads it there. The
// work is done when the peers have read all of those. Or the step is placed: the peer has offered its output when its work began, and
// finds the data in its place there, so that what one rank computes or copies is stored for both at once.
//
// Under LL and LL128 the movers themselves wait for data, word by word or line by line; the waiter waits only for space. Every
// loop that waits looks at the abort word. A block that gives up posts nothing from then on: its queues cannot be used again.

#include "core/shared_code.h"
#include "runtime/gpu/block.h"
#include "runtime/gpu/movers.h"
#include "runtime/gpu/waiter.h"

namespace xylem::gpu {

// The fewest threads of a block: a waiter, a mover and a poster.
template <Machine M>
constexpr int kMinThreads = 3 * M::kLanes;

template <Machine M>
XYLEM_KERNEL inline void runMovers(M& m, Block& block, int waiting, int posting) {
  const MoverGroup group{m.thread() - M::kLanes, m.threads() - 2 * M::kLanes};
  for (unsigned place = 0;; place = (place + 1) % kSlices) {
    m.sync(barrierOf(Barrier::kReady, place), waiting);
    const Slice& slice = block.slices[place];
    const bool isEnd = slice.kind != SliceKind::kMove;
    if (!isEnd && slice.moves) moveSlice(m, block, slice, group);
    m.arrive(barrierOf(Barrier::kMoved, place), posting);
    if (isEnd) return;
  }
}

// The poster. Each of its first threads posts to one queue, as in the waiter.
template <Machine M>
XYLEM_KERNEL inline void postSlice(M& m, Block& block, const Slice& slice) {
  const int lane = m.thread() % M::kLanes;
  std::uint64_t* counter = nullptr;
  std::uint64_t step = 0;
  if (lane < slice.incoming) {
    counter = block.work.from[slice.fromQueue[lane]].head;
    step = slice.fromStep[lane] + static_cast<std::uint64_t>(slice.steps) - 1;
  } else if (const int place = lane - kMaxFan;
             place >= 0 && place < slice.outgoing && block.work.protocol == Protocol::kSimple) {
    const QueueEnd& end = block.work.to[slice.toQueue[place]];
    counter = end.tail;
    step = slice.toStep[place] + static_cast<std::uint64_t>(slice.steps) - 1;
    const std::byte* data = slice.reference;
    std::size_t bytes = slice.bytes;
    for (std::uint64_t s = slice.toStep[place]; s <= step; ++s) {
      const std::size_t now = s == step ? bytes : block.work.slice * block.work.elementBytes;
      auto* const note = reinterpret_cast<std::byte*>(&end.notes[s % transport::kQueueSteps]);
      m.template store<std::uint64_t>(note, slice.places      ? noteOfPlaced(now)
                                            : data != nullptr ? noteOfReference(now)
                                                              : noteInSlot(now));
      m.template store<std::uint64_t>(note + 8,
                                      end.reduces ? block.work.label : reinterpret_cast<std::uint64_t>(data));
      if (data != nullptr) data += now;
      bytes -= now;
    }
  }
  // A fence takes a microsecond, and several while the block writes much. Under LL and LL128 nothing was written for the peers that is not
  // in words and lines with flags, and what was read has been compared with its flags; and what was found in its place was neither
  // read nor written.
  if (block.work.protocol == Protocol::kSimple && (slice.moves || slice.outgoing > 0)) m.releaseFence();
  if (counter != nullptr) m.storeFenced(counter, step + 1);
}

// The host looks at it while the kernel runs, and then, unless all is well, at the rest of the report.
template <Machine M>
XYLEM_KERNEL inline void reportOutcome(M& m, const Work& work, std::uint32_t outcome) {
  if (work.timed) m.storeRelaxed(&work.report->ended, m.clock());
  if (work.isPumped || work.timed || outcome != static_cast<std::uint32_t>(Outcome::kDone)) m.releaseFence();
  m.storeFenced(reinterpret_cast<std::uint32_t*>(&work.report->outcome), outcome);
}

template <Machine M>
XYLEM_KERNEL inline void runPoster(M& m, Block& block, int posting) {
  const int lane = m.thread() % M::kLanes;
  SliceKind kind = SliceKind::kMove;
  for (unsigned place = 0; kind == SliceKind::kMove; place = (place + 1) % kSlices) {
    m.sync(barrierOf(Barrier::kMoved, place), posting);
    const Slice& slice = block.slices[place];
    kind = slice.kind;
    if (kind != SliceKind::kMove) break;
    if (m.loadRelaxed(&block.outcome) == kBlockRuns) postSlice(m, block, slice);
    m.arrive(barrierOf(Barrier::kFree, place), 2 * M::kLanes);
  }
  std::uint32_t outcome = m.loadRelaxed(&block.outcome);
  if (outcome == kBlockRuns) {
    outcome = static_cast<std::uint32_t>(Outcome::kDone);
    const Work& work = block.work;
    for (int q = lane; q < kMaxQueues; q += M::kLanes) {
      // The other program of an operation has the queues that this one has not used.
      if ((work.fromQueues >> q & 1) != 0 && block.fromStep[q] != block.fromBegin[q])
        m.storeRelaxed(work.from[q].step, block.fromStep[q]);
      if ((work.toQueues >> q & 1) != 0 && block.toStep[q] != block.toBegin[q])
        m.storeRelaxed(work.to[q].step, block.toStep[q]);
    }
  }
  if (outcome != static_cast<std::uint32_t>(Outcome::kDone))
    for (int q = lane; q < kMaxQueues; q += M::kLanes)
      if ((block.work.offers >> q & 1) != 0) m.storeRelaxed(block.work.from[q].offer, std::uint64_t{0});
  m.syncWarp();  // all threads have posted
  if (lane == 0) reportOutcome(m, block.work, outcome);
}

// The place of this thread in a job of `count` threads of the block, of which it is number `index`, that begins with another one of them: of
// several small jobs each has its own threads then, as far as there are enough.
XYLEM_KERNEL inline int placeFrom(int first, int index, int count) {
  const int begin = first % count;
  return index < begin ? index + count - begin : index - begin;
}

// The threads of the block from the `first` one on copy into its shared memory, word by word.
template <Machine M, typename T>
XYLEM_KERNEL inline void copyIn(M& m, int first, T* to, const T* from, std::size_t count) {
  using Word __attribute__((may_alias)) = std::uint64_t;
  static_assert(sizeof(T) % sizeof(Word) == 0);
  for (auto i = static_cast<std::size_t>(placeFrom(first, m.thread(), m.threads()));
       i < count * sizeof(T) / sizeof(Word); i += static_cast<std::size_t>(m.threads()))
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
}

// The number of the last queue, and one.
XYLEM_KERNEL inline std::size_t endsIn(collectives::QueueMask mask) {
  std::size_t n = 0;
  for (; mask != 0; mask >>= 1) ++n;
  return n;
}

// Where the block stands in its queue `q`. The output is offered at once: it may be written, as its stream has come to this work.
template <Machine M>
XYLEM_KERNEL inline void takeFrom(M& m, Block& block, int q) {
  const Work& work = block.work;
  block.fromTail[q] = 0;
  if ((work.fromQueues >> q & 1) == 0) return;
  const QueueEnd& end = block.from[q];
  block.fromStep[q] = block.fromBegin[q] = m.loadRelaxed(end.step);
  if ((work.offers >> q & 1) == 0) return;
  m.storeRelaxed(end.offer + 1, reinterpret_cast<std::uint64_t>(work.output));
  m.storeRelaxed(end.offer + 2, work.outputBytes);
  m.storeRelease(end.offer, block.fromBegin[q] + 1);
}
template <Machine M>
XYLEM_KERNEL inline void takeTo(M& m, Block& block, int q) {
  if ((block.work.toQueues >> q & 1) != 0)
    block.toStep[q] = block.toBegin[q] = m.loadRelaxed(block.to[q].step);
  block.toReferred[q] = 0;
  block.toOutput[q] = 0;
  block.toLooks[q] = 0;
}

// Takes the work into the block. The other program of an operation may write the positions of its queues at the same time. A look at
// memory takes most of a microsecond, and so does an instruction: the waiter computes the first ones meanwhile.
template <Machine M>
XYLEM_KERNEL inline void loadWork(M& m, Block& block, const Work& work, const TableView& table) {
  const bool hasOrder = work.shape.order != nullptr && work.shape.ranks <= kMostInOrder;
  copyIn(m, 0, &block.work, &work, 1);
  copyIn(m, 64, block.from, table.at(work.from), endsIn(work.fromQueues));
  copyIn(m, 128, block.to, table.at(work.to), endsIn(work.toQueues));
  for (int i = placeFrom(288, m.thread(), m.threads()); hasOrder && i < work.shape.ranks; i += m.threads())
    block.order[i] = table.at(work.shape.order)[i];
  m.sync(barrierOf(Barrier::kAll), m.threads());
  if (m.thread() == 0) {
    block.work.from = block.from;
    block.work.to = block.to;
    block.work.shape.order = hasOrder ? block.order : table.at(work.shape.order);
    block.outcome = kBlockRuns;
    m.storeRelaxed(reinterpret_cast<std::uint32_t*>(&work.report->outcome), kBlockRuns);
    m.storeRelaxed(&work.report->waitsFor, 0u);
    if (work.timed) m.storeRelaxed(&work.report->began, m.clock());
    if (work.scalar != nullptr)
      for (int i = 0; i < work.elementBytes; ++i)
        block.work.factor.element[static_cast<std::size_t>(i)] =
            static_cast<std::byte>(m.template load<std::uint8_t>(work.scalar + i));
  }
  if (m.thread() < M::kLanes) {
    computeInstructions(m, block, 0);
  } else {
    const int others = m.threads() - M::kLanes;
    const auto forEachQueue = [&](int first, auto&& take) {
      for (int q = placeFrom(first, m.thread() - M::kLanes, others); q < kMaxQueues; q += others) take(q);
    };
    forEachQueue(0, [&](int q) { takeFrom(m, block, q); });
    forEachQueue(64, [&](int q) { takeTo(m, block, q); });
    // Usually there is space in all queues at first.
    forEachQueue(128, [&](int q) {
      if ((block.work.toQueues >> q & 1) != 0) block.toHead[q] = m.loadAcquire(block.to[q].head);
    });
  }
  m.sync(barrierOf(Barrier::kAll), m.threads());
}

// `block` is the block's shared memory. All threads may use it again when the call has returned. `table`: where the work's addresses
// count from (work.h); by default from 0.
template <Machine M>
XYLEM_KERNEL inline void runBlock(M& m, Block& block, const Work& work, const TableView& table = {}) {
  const int threads = m.threads();
  loadWork(m, block, work, table);
  // At kReady: all but the poster. At kMoved: all but the waiter.
  const int others = threads - M::kLanes;
  const int warp = m.thread() / M::kLanes;
  if (warp == 0)
    Waiter<M>(m, block, others).run();
  else if (warp == threads / M::kLanes - 1)
    runPoster(m, block, others);
  else
    runMovers(m, block, others, others);
  m.sync(barrierOf(Barrier::kAll), threads);
}

// Waits until the lane that a work follows has come far enough. False if the block gives up.
template <Machine M>
XYLEM_KERNEL inline bool awaitLane(M& m, Block& block, const Work& work) {
  if (work.awaits == nullptr) return true;
  if (m.thread() == 0) {
    block.work = work;
    block.outcome = kBlockRuns;
    unsigned spins = 0;
    while (m.loadAcquire(work.awaits) < work.awaited)
      if (!keepWaiting(m, block, spins, kNoPeer)) break;
    if (block.outcome != kBlockRuns) reportOutcome(m, work, block.outcome);
  }
  m.sync(barrierOf(Barrier::kAll), m.threads());
  const bool goesOn = m.loadRelaxed(&block.outcome) == kBlockRuns;
  m.sync(barrierOf(Barrier::kAll), m.threads());
  return goesOn;
}

// All threads of the block have passed kAll when it ends; a work that fails ends its lane.
template <Machine M>
XYLEM_KERNEL inline void runWorks(M& m, Block& block, const Lane& lane, const TableView& view) {
  for (std::uint64_t i = 0; i < lane.count; ++i) {
    const Work& work = i == 0 ? lane.first : view.at(lane.others)[i - 1];
    if (!awaitLane(m, block, work)) return;
    runBlock(m, block, work, view);
    const bool goesOn = m.loadRelaxed(&block.outcome) == kBlockRuns;
    if (m.thread() == 0 && goesOn && lane.passed != nullptr) m.storeRelease(lane.passed, i + 1);
    m.sync(barrierOf(Barrier::kAll), m.threads());
    if (!goesOn) return;
  }
}

// The lane `number` of a table whose records have `recordBytes` bytes.
template <Machine M>
XYLEM_KERNEL inline void runLane(M& m, Block& block, const std::byte* table, std::size_t recordBytes,
                                 int number) {
  using Word = std::uint64_t;
  const TableView view{reinterpret_cast<std::uintptr_t>(table),
                       static_cast<std::uintptr_t>(number) * recordBytes, recordBytes, block.record};
  copyIn(m, 0, reinterpret_cast<Word*>(block.record), reinterpret_cast<const Word*>(table + view.record),
         recordBytes / sizeof(Word));
  m.sync(barrierOf(Barrier::kAll), m.threads());
  const Lane& lane = *reinterpret_cast<const Lane*>(block.record);
  runWorks(m, block, lane, view);
  if (m.thread() == 0 && lane.ended != nullptr) m.count(lane.ended);
}

}  // namespace xylem::gpu
