#include "runtime/collectives/program_executor.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "runtime/transport/collnet/coll_network.h"

namespace xylem::collectives {
namespace {

// Data of several queues is combined in blocks that stay in the first-level cache.
constexpr std::size_t kBlockBytes = std::size_t{4} << 10;
constexpr std::size_t kMaxIncoming = std::numeric_limits<QueueMask>::digits;

// The queues of a mask: for (QueueMask left = mask; left != 0; left &= left - 1) use(lowest(left));
std::size_t lowest(QueueMask mask) { return static_cast<std::size_t>(std::countr_zero(mask)); }

template <typename End>
std::size_t smallestStep(std::span<End* const> ends, Protocol protocol) {
  std::size_t smallest = std::numeric_limits<std::size_t>::max();
  for (const End* end : ends)
    if (end != nullptr) smallest = std::min(smallest, end->stepBytes(protocol));
  return smallest;
}

// The elements of a step: as many as fit into a step of every queue.
std::size_t sliceOf(const ProgramWork& work) {
  const std::size_t stepBytes =
      std::min(smallestStep(work.from, work.protocol), smallestStep(work.to, work.protocol));
  return sliceElements(stepBytes, work.mostBytes, work.reduction.elementBytes);
}

}  // namespace

ProgramSteps countSteps(const ProgramWork& work) {
  ProgramSteps steps;
  const std::size_t slice = sliceOf(work);
  const std::uint64_t length = work.program.length(work.shape);
  for (std::uint64_t i = 0; i < length; ++i) {
    const Instruction instruction = work.program.at(work.shape, i);
    const auto slices = static_cast<int>((instruction.count + slice - 1) / slice);
    for (QueueMask left = instruction.from; left != 0; left &= left - 1) steps.from[lowest(left)] += slices;
    for (QueueMask left = instruction.to; left != 0; left &= left - 1) steps.to[lowest(left)] += slices;
  }
  return steps;
}

void ProgramExecutor::start(const ProgramWork& work) {
  work_ = work;
  slice_ = sliceOf(work);
  index_ = 0;
  length_ = work.program.length(work_.shape);
  shared_ = 0;
  waitsFor_ = -1;
  if (work_.label != 0)
    for (transport::SendEnd* to : work_.to)
      if (to != nullptr && to->peer() == transport::kReducingNetwork) to->label(work_.label);
  open_ = next();
}

// Turns to the next instruction that moves data. False if there is none.
bool ProgramExecutor::next() {
  done_ = 0;
  while (index_ < length_) {
    // Constructed in place: the processor stalls when it copies a struct whose fields have just been written.
    ::new (&now_) Instruction(work_.program.at(work_.shape, index_++));
    if (now_.count > 0) return true;
  }
  return false;
}

device::Progress ProgramExecutor::step() {
  try {
    return goOn();
  } catch (...) {
    endRead();
    throw;
  }
}

// Ends the peeks at incoming data before this thread turns to something else.
void ProgramExecutor::endRead() {
  for (transport::RecvEnd* from : work_.from)
    if (from != nullptr) from->endRead();
}

device::Progress ProgramExecutor::goOn() {
  bool advanced = false;
  while (open_) {
    const std::size_t n = sliceAt(now_, done_, slice_);
    if (!slice(n)) {
      endRead();
      for (transport::SendEnd* to : work_.to)
        if (to != nullptr) to->push();
      return advanced ? device::Progress::kAdvanced : device::Progress::kWouldBlock;
    }
    advanced = true;
    done_ += n;
    if (done_ == now_.count) open_ = next();
  }
  if (drained()) return device::Progress::kDone;
  return advanced ? device::Progress::kAdvanced : device::Progress::kWouldBlock;
}

// Moves the next `n` elements of the instruction. False if a queue is empty or full.
bool ProgramExecutor::slice(std::size_t n) {
  if (now_.from == 0) return give(n);
  return now_.own ? reduce(n) : pass(n);
}

// Own data goes to other ranks, to `out`, or both.
bool ProgramExecutor::give(std::size_t n) {
  const Reduction& reduction = work_.reduction;
  const std::size_t bytes = n * reduction.elementBytes;
  std::byte* slot = nullptr;
  if (now_.to != 0 && (slot = reserve()) == nullptr) return false;

  const bool scales = reduction.scales && isRaw();
  if (now_.out) {
    if (scales)
      reduction.enter(out(), own(), n, reduction.factor);
    else if (out() != own())
      std::memcpy(out(), own(), bytes);
  }
  if (now_.to == 0) return true;
  if (!scales) {
    send(now_.own, own(), bytes);
  } else if (now_.out) {
    send(now_.out, out(), bytes);
  } else {
    reduction.enter(slot, own(), n, reduction.factor);
    sendReserved(slot, bytes);
  }
  return true;
}

// Incoming data goes to `out`, to other ranks, or both.
bool ProgramExecutor::pass(std::size_t n) {
  assert(std::has_single_bit(now_.from));
  transport::RecvEnd& from = *work_.from[lowest(now_.from)];
  const std::size_t bytes = n * work_.reduction.elementBytes;
  if (now_.to != 0 && reserve() == nullptr) return false;
  if (now_.out) {
    if (!from.take(work_.protocol, out(), bytes)) return blockedBy(from.peer());
    if (now_.to != 0) send(now_.out, out(), bytes);
    return true;
  }
  const std::byte* data = from.peek(work_.protocol, bytes);
  if (data == nullptr) return blockedBy(from.peer());
  // The data goes away with the step, so it is copied, like scratch.
  send(inScratch(0), data, bytes);
  from.release(work_.protocol);
  return true;
}

// Incoming data is combined with own data, into `out` or straight into the slot of the first queue, and sent
// on.
bool ProgramExecutor::reduce(std::size_t n) {
  const std::size_t bytes = n * work_.reduction.elementBytes;
  std::array<const std::byte*, kMaxIncoming> incoming;
  std::size_t found = 0;
  for (QueueMask left = now_.from; left != 0; left &= left - 1) {
    transport::RecvEnd& from = *work_.from[lowest(left)];
    assert(found < kMaxIncoming);
    incoming[found] = from.peek(work_.protocol, bytes);
    if (incoming[found] == nullptr) return blockedBy(from.peer());
    ++found;
  }
  std::byte* slot = nullptr;
  if (now_.to != 0 && (slot = reserve()) == nullptr) return false;

  combine(now_.out ? out() : slot, {incoming.data(), found}, own(), n);
  for (QueueMask left = now_.from; left != 0; left &= left - 1)
    work_.from[lowest(left)]->release(work_.protocol);
  if (now_.to == 0) return true;
  if (now_.out)
    send(now_.out, out(), bytes);
  else
    sendReserved(slot, bytes);
  return true;
}

// result = incoming[0] (+) mine (+) incoming[1] ..., in the order of combinationAt (slices.h).
void ProgramExecutor::combine(std::byte* result, std::span<const std::byte* const> incoming,
                              const std::byte* mine, std::size_t n) const {
  if (incoming.size() == 1) return combineOne(combinationAt(now_, 0, 1), result, incoming[0], mine, n);
  const std::size_t block = kBlockBytes / work_.reduction.elementBytes;
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t length = std::min(block, n - start);
    const std::size_t at = start * work_.reduction.elementBytes;
    const std::byte* own = mine + at;
    for (std::size_t i = 0; i < incoming.size(); ++i) {
      combineOne(combinationAt(now_, i, incoming.size()), result + at, incoming[i] + at, own, length);
      own = result + at;
    }
  }
}

void ProgramExecutor::combineOne(const Combination& c, std::byte* result, const std::byte* incoming,
                                 const std::byte* own, std::size_t n) const {
  const Reduction& reduction = work_.reduction;
  if (c.ownLeft) std::swap(incoming, own);
  if (c.finishes)
    (c.raw ? reduction.finish : reduction.finishMerge)(result, nullptr, incoming, own, n, reduction.factor);
  else
    (c.raw ? reduction.combine : reduction.merge)(result, incoming, own, n, reduction.factor);
}

// The first queue's slot if all queues have a free one; otherwise null.
std::byte* ProgramExecutor::reserve() {
  std::byte* first = nullptr;
  for (QueueMask left = now_.to; left != 0; left &= left - 1) {
    transport::SendEnd& to = *work_.to[lowest(left)];
    std::byte* slot = to.reserve(work_.protocol);
    if (slot == nullptr) {
      blockedBy(to.peer());
      return nullptr;
    }
    if (first == nullptr) first = slot;
  }
  return first;
}

// Sends to all queues, which have a free slot. `place`: where the data lies, which says whether it may go by
// reference.
void ProgramExecutor::send(const Place& place, const std::byte* data, std::size_t bytes) {
  const bool stays = place.buffer != Buffer::kScratch && !now_.changes;
  for (QueueMask left = now_.to; left != 0; left &= left - 1) {
    transport::SendEnd& to = *work_.to[lowest(left)];
    [[maybe_unused]] const bool sent =
        stays ? to.share(work_.protocol, data, bytes) : to.send(work_.protocol, data, bytes);
    assert(sent);
  }
  if (stays) shared_ |= now_.to;
}

// Sends the data that lies in the first queue's slot.
void ProgramExecutor::sendReserved(std::byte* slot, std::size_t bytes) {
  for (QueueMask left = now_.to & (now_.to - 1); left != 0; left &= left - 1)
    work_.to[lowest(left)]->send(work_.protocol, slot, bytes);
  work_.to[lowest(now_.to)]->commit(work_.protocol, bytes);
}

// True once no receiver reads from our buffers any more.
bool ProgramExecutor::drained() {
  for (QueueMask left = shared_; left != 0; left &= left - 1) {
    transport::SendEnd& to = *work_.to[lowest(left)];
    if (!to.drained()) return blockedBy(to.peer());
  }
  return true;
}

bool ProgramExecutor::blockedBy(int peer) {
  waitsFor_ = peer;
  return false;
}

const std::byte* ProgramExecutor::own() const {
  const std::size_t at = (now_.own.offset + done_) * work_.reduction.elementBytes;
  const ProgramBuffers& buffers = work_.buffers;
  if (now_.own.buffer == Buffer::kInput) return buffers.input + at;
  return (now_.own.buffer == Buffer::kOutput ? buffers.output : buffers.scratch) + at;
}

std::byte* ProgramExecutor::out() const {
  const std::size_t at = (now_.out.offset + done_) * work_.reduction.elementBytes;
  return (now_.out.buffer == Buffer::kOutput ? work_.buffers.output : work_.buffers.scratch) + at;
}

}  // namespace xylem::collectives
