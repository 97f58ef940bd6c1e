#pragma once
// The kernel: a block executes the works of a lane, each of which is one program on one channel.
//
//   runLane(machine, block, lane);      // in every thread of a block of at least three warps
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

#include <type_traits>

#include "core/shared_code.h"
#include "runtime/gpu/block.h"
#include "runtime/gpu/movers.h"

namespace xylem::gpu {

// The fewest threads of a block: a waiter, a mover and a poster.
template <Machine M>
constexpr int kMinThreads = 3 * M::kLanes;

// The i-th queue of a mask; -1 if there are fewer.
XYLEM_KERNEL inline int queueOf(collectives::QueueMask mask, int i) {
  for (int q = 0; mask != 0; ++q, mask >>= 1)
    if ((mask & 1) != 0 && i-- == 0) return q;
  return -1;
}
XYLEM_KERNEL inline int queuesOf(collectives::QueueMask mask) {
  int n = 0;
  for (; mask != 0; mask &= mask - 1) ++n;
  return n;
}

XYLEM_KERNEL inline std::byte* placeOf(const Work& work, const collectives::Place& place, std::size_t done) {
  // The input is never written: instructions name it as their own data only.
  std::byte* const buffer = place.buffer == collectives::Buffer::kInput ? const_cast<std::byte*>(work.input)
                            : place.buffer == collectives::Buffer::kOutput ? work.output
                            : place.buffer == collectives::Buffer::kNone   ? nullptr
                                                                           : work.scratch;
  return buffer == nullptr ? nullptr : buffer + (place.offset + done) * work.elementBytes;
}

// The first half of the note of a step, the region and the bytes: of data in its slot, and of data at the address in the other half.
XYLEM_KERNEL constexpr std::uint64_t noteInSlot(std::size_t bytes) { return std::uint64_t{bytes} << 32; }
XYLEM_KERNEL constexpr std::uint64_t noteOfReference(std::size_t bytes) {
  return noteInSlot(bytes) | transport::StepNote::kAddress;
}
XYLEM_KERNEL constexpr std::uint64_t noteOfPlaced(std::size_t bytes) {
  return noteInSlot(bytes) | transport::StepNote::kPlaced;
}
static_assert(offsetof(transport::OutputOffer, step) == 0 && offsetof(transport::OutputOffer, output) == 8 &&
              offsetof(transport::OutputOffer, bytes) == 16);
static_assert(offsetof(transport::StepNote, region) == 0 && offsetof(transport::StepNote, bytes) == 4);

// Puts the instructions from `first` on into shared memory. One takes a thread half a microsecond, so each thread of the waiter computes
// another one.
template <Machine M>
XYLEM_KERNEL __attribute__((noinline)) void computeInstructions(M& m, Block& block, std::uint64_t first) {
  const int lane = m.thread() % M::kLanes;
  const std::uint64_t index = first + static_cast<std::uint64_t>(lane);
  m.syncWarp();  // those before are done
  if (index < block.work.length)
    block.instructions[lane] = collectives::instructionAt(block.work.program, block.work.shape, index);
  m.syncWarp();
}

// The waiter. Each of its first threads waits for one queue of the slice: kMaxFan for those that it receives from, as many
// for those that it sends to.
template <Machine M>
class Waiter {
  static_assert(M::kLanes >= 2 * kMaxFan && M::kLanes <= std::extent_v<decltype(Block::instructions)>);

 public:
  XYLEM_KERNEL Waiter(M& m, Block& block, int others)
      : m_(m), block_(block), work_(block.work), others_(others) {}

  XYLEM_KERNEL void run() {
    const SliceKind end = prepareAll() && awaitReferences() ? SliceKind::kEnd : SliceKind::kStop;
    beginSlice();
    if (isFirst()) block_.slices[place()].kind = end;
    publish();
    // The poster frees every slice that was moved, and no other one.
    const unsigned moved = slices_ - 1;
    for (unsigned i = moved < kSlices ? 0 : moved - (kSlices - 1); i < moved; ++i)
      m_.sync(barrierOf(Barrier::kFree, i % kSlices), 2 * M::kLanes);
  }

 private:
  XYLEM_KERNEL int lane() const { return m_.thread() % M::kLanes; }
  XYLEM_KERNEL bool isFirst() const { return lane() == 0; }
  XYLEM_KERNEL unsigned place() const { return slices_ % kSlices; }

  // Waits until the description of the next slice is free.
  XYLEM_KERNEL void beginSlice() {
    if (isBegun_) return;
    if (slices_ >= kSlices) m_.sync(barrierOf(Barrier::kFree, place()), 2 * M::kLanes);
    isBegun_ = true;
  }
  XYLEM_KERNEL void publish() {
    m_.arrive(barrierOf(Barrier::kReady, place()), others_);
    ++slices_;
    isBegun_ = false;
  }

  // False if the block gives up.
  XYLEM_KERNEL bool prepareAll() {
    for (std::uint64_t index = 0; index < work_.length; ++index) {
      if (index % M::kLanes == 0) computeInstructions(m_, block_, index);
      const collectives::Instruction& now = block_.instructions[index % M::kLanes];
      for (std::size_t done = 0, n = 0; done < now.count; done += n) {
        n = collectives::sliceAt(now, done, work_.slice);
        if (!prepare(now, done, n)) return false;
      }
    }
    return true;
  }

  // Waits until the peers have read what was sent by reference. False if the block gives up.
  XYLEM_KERNEL bool awaitReferences() {
    if (!work_.refers) return true;
    m_.syncWarp();  // other threads of the warp have sent them
    bool goesOn = true;
    for (int q = lane(); q < kMaxQueues; q += M::kLanes) {
      const std::uint64_t referred = block_.toReferred[q];
      if (referred == 0) continue;
      unsigned spins = 0;
      while (goesOn && m_.loadAcquire(work_.to[q].head) < referred)
        goesOn = keepWaiting(m_, block_, spins, work_.to[q].peer);
      waitedFor(m_, block_, spins);
    }
    return !m_.any(!goesOn);
  }

  XYLEM_KERNEL bool prepare(const collectives::Instruction& now, std::size_t done, std::size_t n) {
    beginSlice();
    // The numbers of the steps that other threads of the warp have written.
    m_.syncWarp();
    Slice& slice = block_.slices[place()];
    const std::size_t bytes = n * work_.elementBytes;
    const bool receives = lane() < kMaxFan;
    const int index = receives ? lane() : lane() - kMaxFan;
    const int queue = lane() < 2 * kMaxFan ? queueOf(receives ? now.from : now.to, index) : -1;
    if (!awaitQueue(queue, now, receives, bytes)) return false;
    const std::uint64_t place = (now.there.offset + done) * work_.elementBytes;
    const bool places = work_.places && now.there && now.to != 0 &&
                        m_.all(queue < 0 || receives || hasOffer(queue, place + bytes));
    const bool isThere = m_.any(queue >= 0 && receives && isPlaced(queue));
    const std::byte* const reference = places ? nullptr : referenceOf(now, done);
    if (queue >= 0) takeStep(slice, index, queue, receives);
    if (queue >= 0 && !receives && reference != nullptr) block_.toReferred[queue] = block_.toStep[queue];
    if (queue >= 0 && !receives && places)
      slice.to[index] = reinterpret_cast<std::byte*>(block_.toOutput[queue]) + place;
    if (isFirst()) {
      describe(slice, now, done, bytes, reference);
      slice.places = places;
      // Placed data is only sent on, from its place.
      if (isThere) {
        slice.from[0] = slice.out;
        slice.out = nullptr;
        slice.moves = slice.stores > 0;
      }
    }
    publish();
    return true;
  }

  // Waits for data or for space in all queues of the slice. False if the block gives up.
  XYLEM_KERNEL bool awaitQueue(int queue, const collectives::Instruction& now, bool receives,
                               std::size_t bytes) {
    const bool readsNote = queue >= 0 && receives && work_.protocol == Protocol::kSimple;
    const int peer = queue < 0 ? kNoPeer : receives ? work_.from[queue].peer : work_.to[queue].peer;
    unsigned spins = 0;
    bool isReady = queue < 0;
    for (;;) {
      isReady = isReady || (receives ? hasData(queue) : hasSpace(queue));
      if (m_.all(isReady)) break;
      const bool goesOn = keepWaiting(m_, block_, spins, isReady ? kNoPeer : peer);
      // Looks are in the same rounds in all threads of the warp.
      if (spins % M::kSpinsPerLook == 0 && m_.any(!goesOn)) return false;
    }
    if (queue >= 0) waitedFor(m_, block_, spins);
    // After a wait the reader may be gone, and its output with it: the waiter looks at the offer again.
    if (queue >= 0 && !receives && spins >= static_cast<unsigned>(M::kSpinsPerLook))
      block_.toOutput[queue] = 0;
    const bool fits = !readsNote || noteFits(queue, now, bytes);
    if (m_.all(fits)) return true;
    for (int i = 0; i < kMaxFan; ++i) {  // one thread reports
      if (!m_.any(lane() == i && !fits)) continue;
      if (lane() == i) reportNote(queue, bytes);
      return false;
    }
    return false;
  }

  // Each look at a counter takes as long as to move some kilobytes, so one serves all steps that it finds. Their notes are taken
  // together.
  XYLEM_KERNEL bool hasData(int queue) {
    if (work_.protocol != Protocol::kSimple) return true;
    const std::uint64_t step = block_.fromStep[queue];
    if (block_.fromTail[queue] > step) return true;
    const std::uint64_t tail = m_.loadAcquire(work_.from[queue].tail);
    if (tail <= step) return false;
    block_.fromTail[queue] = tail;
    takeNotes(queue, step, tail, 0, block_.fromNotes[queue]);
    if (work_.from[queue].references) takeNotes(queue, step, tail, 8, block_.fromAddresses[queue]);
    return true;
  }

  // One half of the notes of the steps before `tail`: the one that begins at this byte.
  XYLEM_KERNEL void takeNotes(int queue, std::uint64_t step, std::uint64_t tail, std::size_t half,
                              std::uint64_t (&taken)[transport::kQueueSteps]) {
    const auto* const notes = reinterpret_cast<const std::byte*>(work_.from[queue].notes) + half;
    std::uint64_t found[transport::kQueueSteps];
    XYLEM_UNROLL
    for (std::uint64_t i = 0; i < transport::kQueueSteps; ++i)
      found[i] = step + i < tail
                     ? m_.template load<std::uint64_t>(notes + (step + i) % transport::kQueueSteps *
                                                                   sizeof(transport::StepNote))
                     : 0;
    XYLEM_UNROLL
    for (std::uint64_t i = 0; i < transport::kQueueSteps; ++i)
      if (step + i < tail) taken[(step + i) % transport::kQueueSteps] = found[i];
  }

  XYLEM_KERNEL bool hasSpace(int queue) {
    const QueueEnd& end = work_.to[queue];
    const std::uint64_t step = block_.toStep[queue];
    if (block_.toHead[queue] + transport::kQueueSteps <= step) {
      block_.toHead[queue] = m_.loadAcquire(end.head);
      if (block_.toHead[queue] + transport::kQueueSteps <= step) return false;
    }
    if (transport::llClearsAt(step) == step) clearSlot(end, step);
    return true;
  }
  XYLEM_KERNEL void clearSlot(const QueueEnd& end, std::uint64_t step) {
    std::byte* const slot =
        end.llSlots + step % transport::kQueueSteps * end.llSlotWords * transport::kLlWordBytes;
    for (std::size_t i = 0; i < end.llSlotWords; ++i)
      m_.storeWord(slot + i * transport::kLlWordBytes, transport::llCleared(step));
  }

  XYLEM_KERNEL std::uint64_t noteOf(int queue) const {
    return block_.fromNotes[queue][block_.fromStep[queue] % transport::kQueueSteps];
  }
  XYLEM_KERNEL bool isReference(int queue) const {
    return work_.from[queue].references &&
           static_cast<std::uint32_t>(noteOf(queue)) == transport::StepNote::kAddress;
  }
  XYLEM_KERNEL bool isPlaced(int queue) const {
    return work_.protocol == Protocol::kSimple && (work_.offers >> queue & 1) != 0 &&
           static_cast<std::uint32_t>(noteOf(queue)) == transport::StepNote::kPlaced;
  }
  // A result that is placed is the only thing that its instruction receives, and is kept in the output.
  XYLEM_KERNEL bool noteFits(int queue, const collectives::Instruction& now, std::size_t bytes) const {
    if (isPlaced(queue))
      return noteOf(queue) == noteOfPlaced(bytes) && !now.own &&
             now.out.buffer == collectives::Buffer::kOutput;
    return noteOf(queue) == (isReference(queue) ? noteOfReference(bytes) : noteInSlot(bytes));
  }
  // Whether the reader has offered its output for this work, which begins at the same step on both sides, and as many bytes of it. One
  // that has not after some looks, each of which takes as long as to move kilobytes, is taken not to.
  XYLEM_KERNEL bool hasOffer(int queue, std::uint64_t bytes) {
    constexpr std::uint32_t kMostLooks = 16;
    const std::uint64_t* const offer = work_.to[queue].offer;
    if (offer == nullptr) return false;
    if (block_.toOutput[queue] == 0 && block_.toLooks[queue] < kMostLooks) {
      ++block_.toLooks[queue];
      if (m_.loadAcquire(offer) == block_.toBegin[queue] + 1) {
        block_.toOutput[queue] = m_.loadRelaxed(offer + 1);
        block_.toOutputBytes[queue] = m_.loadRelaxed(offer + 2);
      }
    }
    return block_.toOutput[queue] != 0 && bytes <= block_.toOutputBytes[queue];
  }
  XYLEM_KERNEL void reportNote(int queue, std::size_t bytes) {
    work_.report->peer = static_cast<std::uint32_t>(work_.from[queue].peer);
    work_.report->sentBytes = static_cast<std::uint32_t>(noteOf(queue) >> 32);
    work_.report->expectedBytes = bytes;
    const bool isReachable =
        static_cast<std::uint32_t>(noteOf(queue)) == 0 || isReference(queue) || isPlaced(queue);
    const Outcome outcome = isReachable ? Outcome::kMismatch : Outcome::kUnreachable;
    m_.storeRelease(reinterpret_cast<std::uint64_t*>(&work_.report->failure),
                    static_cast<std::uint64_t>(outcome));
    m_.storeRelaxed(&block_.outcome, static_cast<std::uint32_t>(outcome));
  }

  XYLEM_KERNEL void takeStep(Slice& slice, int place, int queue, bool receives) {
    const QueueEnd& end = receives ? work_.from[queue] : work_.to[queue];
    std::uint64_t& next = receives ? block_.fromStep[queue] : block_.toStep[queue];
    std::byte* const slot = end.slots + next % transport::kQueueSteps * end.slotBytes;
    const bool refers = receives && work_.protocol == Protocol::kSimple && isReference(queue);
    const std::uint64_t step = next++;
    if (receives) {
      slice.fromQueue[place] = queue;
      slice.from[place] =
          refers
              ? reinterpret_cast<const std::byte*>(block_.fromAddresses[queue][step % transport::kQueueSteps])
              : slot;
      slice.fromStep[place] = step;
    } else {
      slice.toQueue[place] = queue;
      slice.to[place] = slot;
      slice.toStep[place] = step;
    }
  }

  // Where the data that the instruction sends lies, if the peers may read it there: programs promise that it does not change before
  // they have it (algorithm.h).
  XYLEM_KERNEL const std::byte* referenceOf(const collectives::Instruction& now, std::size_t done) const {
    if (!work_.refers || now.to == 0 || now.changes) return nullptr;
    const bool isOwn = now.from == 0 && !enters(now);
    const collectives::Place place{isOwn ? now.own.buffer : now.out.buffer,
                                   isOwn ? now.own.offset : now.out.offset};
    return place.buffer == collectives::Buffer::kScratch ? nullptr : placeOf(work_, place, done);
  }
  XYLEM_KERNEL bool enters(const collectives::Instruction& now) const {
    return now.from == 0 && work_.scales && now.own.buffer == collectives::Buffer::kInput;
  }

  XYLEM_KERNEL void describe(Slice& slice, const collectives::Instruction& now, std::size_t done,
                             std::size_t bytes, const std::byte* reference) {
    slice.kind = SliceKind::kMove;
    slice.now = now;
    slice.incoming = queuesOf(now.from);
    slice.outgoing = queuesOf(now.to);
    slice.stores = reference == nullptr ? slice.outgoing : 0;
    slice.bytes = bytes;
    slice.reference = reference;
    slice.own = placeOf(work_, now.own, done);
    slice.out = placeOf(work_, now.out, done);
    slice.enters = enters(now);
    slice.moves = slice.out != nullptr || slice.stores > 0;
  }

  M& m_;
  Block& block_;
  const Work& work_;
  int others_;  // threads at kReady
  unsigned slices_ = 0;
  bool isBegun_ = false;
};

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
    step = slice.fromStep[lane];
  } else if (const int place = lane - kMaxFan;
             place >= 0 && place < slice.outgoing && block.work.protocol == Protocol::kSimple) {
    const QueueEnd& end = block.work.to[slice.toQueue[place]];
    counter = end.tail;
    step = slice.toStep[place];
    auto* const note = reinterpret_cast<std::byte*>(&end.notes[step % transport::kQueueSteps]);
    m.template store<std::uint64_t>(note, slice.places                 ? noteOfPlaced(slice.bytes)
                                          : slice.reference != nullptr ? noteOfReference(slice.bytes)
                                                                       : noteInSlot(slice.bytes));
    m.template store<std::uint64_t>(
        note + 8, end.reduces ? block.work.label : reinterpret_cast<std::uint64_t>(slice.reference));
  }
  // A fence takes a microsecond. Under LL and LL128 nothing was written for the peers that is not in words and lines with flags, and
  // what was read has been compared with its flags.
  if (block.work.protocol == Protocol::kSimple) m.releaseFence();
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

// The place of this thread in a job of the block's threads that begins with another one of them: of several small jobs each has
// its own threads then, as far as there are enough.
template <Machine M>
XYLEM_KERNEL inline int placeFrom(M& m, int first) {
  const int begin = first % m.threads();
  return m.thread() < begin ? m.thread() + m.threads() - begin : m.thread() - begin;
}

// The threads of the block from the `first` one on copy into its shared memory, word by word.
template <Machine M, typename T>
XYLEM_KERNEL inline void copyIn(M& m, int first, T* to, const T* from, std::size_t count) {
  using Word __attribute__((may_alias)) = std::uint64_t;
  static_assert(sizeof(T) % sizeof(Word) == 0);
  for (auto i = static_cast<std::size_t>(placeFrom(m, first)); i < count * sizeof(T) / sizeof(Word);
       i += static_cast<std::size_t>(m.threads()))
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
}

// The number of the last queue, and one.
XYLEM_KERNEL inline std::size_t endsIn(collectives::QueueMask mask) {
  std::size_t n = 0;
  for (; mask != 0; mask >>= 1) ++n;
  return n;
}

// Takes the work into the block. The other program of an operation may write the positions of its queues at the same time.
template <Machine M>
XYLEM_KERNEL inline void loadWork(M& m, Block& block, const Work& work, std::uintptr_t table) {
  const QueueEnd* const from = addressIn(table, work.from);
  const QueueEnd* const to = addressIn(table, work.to);
  copyIn(m, 0, &block.work, &work, 1);
  copyIn(m, 64, block.from, from, endsIn(work.fromQueues));
  copyIn(m, 128, block.to, to, endsIn(work.toQueues));
  for (int q = placeFrom(m, 192); q < kMaxQueues; q += m.threads()) {
    if ((work.fromQueues >> q & 1) != 0) block.fromStep[q] = block.fromBegin[q] = m.loadRelaxed(from[q].step);
    block.fromTail[q] = 0;
  }
  for (int q = placeFrom(m, 224); q < kMaxQueues; q += m.threads()) {
    if ((work.toQueues >> q & 1) != 0) block.toStep[q] = block.toBegin[q] = m.loadRelaxed(to[q].step);
    block.toReferred[q] = 0;
    block.toOutput[q] = 0;
    block.toLooks[q] = 0;
  }
  const bool hasOrder = work.shape.order != nullptr && work.shape.ranks <= kMostInOrder;
  for (int i = placeFrom(m, 288); hasOrder && i < work.shape.ranks; i += m.threads())
    block.order[i] = addressIn(table, work.shape.order)[i];
  // Usually there is space in all queues at first.
  for (int q = placeFrom(m, 256); q < kMaxQueues; q += m.threads())
    if ((work.toQueues >> q & 1) != 0) block.toHead[q] = m.loadAcquire(to[q].head);
  m.sync(barrierOf(Barrier::kAll), m.threads());
  // The output may be written: its stream has come to this work.
  for (int q = placeFrom(m, 64); q < kMaxQueues; q += m.threads())
    if ((work.offers >> q & 1) != 0) {
      m.storeRelaxed(from[q].offer + 1, reinterpret_cast<std::uint64_t>(work.output));
      m.storeRelaxed(from[q].offer + 2, work.outputBytes);
      m.storeRelease(from[q].offer, block.fromBegin[q] + 1);
    }
  if (m.thread() == 0) {
    block.work.from = block.from;
    block.work.to = block.to;
    block.work.shape.order = hasOrder ? block.order : addressIn(table, work.shape.order);
    block.outcome = kBlockRuns;
    m.storeRelaxed(reinterpret_cast<std::uint32_t*>(&work.report->outcome), kBlockRuns);
    m.storeRelaxed(&work.report->waitsFor, 0u);
    if (work.timed) m.storeRelaxed(&work.report->began, m.clock());
    if (work.scalar != nullptr)
      for (int i = 0; i < work.elementBytes; ++i)
        block.work.factor.element[static_cast<std::size_t>(i)] =
            static_cast<std::byte>(m.template load<std::uint8_t>(work.scalar + i));
  }
  m.sync(barrierOf(Barrier::kAll), m.threads());
}

// `block` is the block's shared memory. All threads may use it again when the call has returned. `table`: where the work's addresses
// count from (work.h).
template <Machine M>
XYLEM_KERNEL inline void runBlock(M& m, Block& block, const Work& work, std::uintptr_t table = 0) {
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
XYLEM_KERNEL inline void runLane(M& m, Block& block, const Lane& lane, std::uintptr_t table = 0) {
  const Work* const works = addressIn(table, lane.works);
  for (std::uint64_t i = 0; i < lane.count; ++i) {
    if (!awaitLane(m, block, works[i])) return;
    runBlock(m, block, works[i], table);
    const bool goesOn = m.loadRelaxed(&block.outcome) == kBlockRuns;
    if (m.thread() == 0 && goesOn && lane.passed != nullptr) m.storeRelease(lane.passed, i + 1);
    m.sync(barrierOf(Barrier::kAll), m.threads());
    if (!goesOn) return;
  }
}

}  // namespace xylem::gpu
