#pragma once
// The waiter of a block, its first warp: for each slice it waits until the data is there and the queues have space, decides where the
// data goes (into slots, by reference, or straight into the peer's output), and describes the slice in shared memory. kernel.h has
// the warps that take it from there.
//
//   Waiter<M>(m, block, others).run();     // in every thread of the warp; `others`: threads at kReady

#include <cstddef>
#include <type_traits>

#include "core/shared_code.h"
#include "runtime/gpu/block.h"

namespace xylem::gpu {

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
      // The first ones are there already.
      if (index > 0 && index % M::kLanes == 0) computeInstructions(m_, block_, index);
      const collectives::Instruction& now = block_.instructions[index % M::kLanes];
      for (std::size_t done = 0; done < now.count;) {
        const std::size_t n = prepare(now, done);
        if (n == 0) return false;
        done += n;
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

  // Prepares a slice of the instruction, after the first `done` elements. Returns its elements, or 0 if the block gives up.
  XYLEM_KERNEL std::size_t prepare(const collectives::Instruction& now, std::size_t done) {
    beginSlice();
    // The numbers of the steps that other threads of the warp have written.
    m_.syncWarp();
    Slice& slice = block_.slices[place()];
    std::size_t n = collectives::sliceAt(now, done, work_.slice);
    std::size_t bytes = n * work_.elementBytes;
    const bool receives = lane() < kMaxFan;
    const int index = receives ? lane() : lane() - kMaxFan;
    const int queue = lane() < 2 * kMaxFan ? queueOf(receives ? now.from : now.to, index) : -1;
    if (!awaitQueue(queue, now, receives, bytes)) return 0;
    const std::uint64_t there = (now.there.offset + done) * work_.elementBytes;
    const bool places = work_.places && now.there && now.to != 0 &&
                        m_.all(queue < 0 || receives || hasOffer(queue, there + bytes));
    const bool isThere = m_.any(queue >= 0 && receives && isPlaced(queue));
    const std::byte* const reference = places ? nullptr : referenceOf(now, done);
    // The movers have nothing to do with data that is only referred to, and with data that has been found in its place.
    const bool onlyRefers =
        reference != nullptr && now.from == 0 && now.out.buffer == collectives::Buffer::kNone;
    const bool onlyFinds = isThere && now.to == 0;
    const int steps = onlyRefers || onlyFinds ? takeAll(queue, receives, now, done, n) : 1;
    bytes = n * work_.elementBytes;
    if (queue >= 0) takeSteps(slice, index, queue, receives, steps);
    if (queue >= 0 && !receives && reference != nullptr) block_.toReferred[queue] = block_.toStep[queue];
    if (queue >= 0 && !receives && places)
      slice.to[index] = reinterpret_cast<std::byte*>(block_.toOutput[queue]) + there;
    if (isFirst()) {
      describe(slice, now, done, bytes, reference);
      slice.steps = steps;
      slice.places = places;
      // Placed data is only sent on, from its place.
      if (isThere) {
        slice.from[0] = slice.out;
        slice.out = nullptr;
        slice.moves = slice.stores > 0;
      }
    }
    publish();
    return n;
  }

  // The steps of a slice that the movers have nothing to do with: all for which there is data, or space, as far as is known. Adds the elements
  // of those behind the first one to `n`.
  XYLEM_KERNEL int takeAll(int queue, bool receives, const collectives::Instruction& now, std::size_t done,
                           std::size_t& n) {
    int steps = 1;
    for (; n < now.count - done; ++steps) {
      const std::size_t more = collectives::sliceAt(now, done + n, work_.slice);
      const auto behind = static_cast<std::uint64_t>(steps);
      if (!m_.all(queue < 0 || (receives ? isPlacedBehind(queue, behind, more * work_.elementBytes)
                                         : hasSpaceBehind(queue, behind))))
        break;
      n += more;
    }
    return steps;
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
  // Whether there is space for the step `more` steps behind the next one, as far as is known. A slot that has to be cleared is none.
  XYLEM_KERNEL bool hasSpaceBehind(int queue, std::uint64_t more) {
    const std::uint64_t step = block_.toStep[queue] + more;
    return step < block_.toHead[queue] + transport::kQueueSteps && transport::llClearsAt(step) != step;
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
  // Whether the step `more` steps behind the next one is known to be there, in its place, and has this number of bytes.
  XYLEM_KERNEL bool isPlacedBehind(int queue, std::uint64_t more, std::size_t bytes) const {
    const std::uint64_t step = block_.fromStep[queue] + more;
    return step < block_.fromTail[queue] &&
           block_.fromNotes[queue][step % transport::kQueueSteps] == noteOfPlaced(bytes);
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

  XYLEM_KERNEL void takeSteps(Slice& slice, int place, int queue, bool receives, int steps) {
    const QueueEnd& end = receives ? work_.from[queue] : work_.to[queue];
    std::uint64_t& next = receives ? block_.fromStep[queue] : block_.toStep[queue];
    std::byte* const slot = end.slots + next % transport::kQueueSteps * end.slotBytes;
    const bool refers = receives && work_.protocol == Protocol::kSimple && isReference(queue);
    const std::uint64_t step = next;
    next += static_cast<std::uint64_t>(steps);
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

}  // namespace xylem::gpu
