#include "runtime/collectives/lane.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace xylem {
namespace {

// Where several queues are combined, they are so in blocks that stay in the first cache.
constexpr std::size_t kBlockBytes = std::size_t{4} << 10;
constexpr std::size_t kMostIncoming = 8;

// The queues of a mask: for (QueueMask left = mask; left != 0; left &= left - 1) ... lowest(left) ...
std::size_t lowest(QueueMask mask) { return static_cast<std::size_t>(std::countr_zero(mask)); }

template <typename End>
std::size_t smallestStep(std::span<End* const> ends, Protocol protocol) {
  std::size_t smallest = std::numeric_limits<std::size_t>::max();
  for (const End* end : ends)
    if (end != nullptr) smallest = std::min(smallest, end->stepBytes(protocol));
  return smallest;
}

// The elements of a step.
std::size_t sliceOf(const LaneWork& work) {
  return std::min(
             {smallestStep(work.from, work.protocol), smallestStep(work.to, work.protocol), work.mostBytes}) /
         work.reduction.elementBytes;
}

}  // namespace

LaneSteps countSteps(const LaneWork& work) {
  LaneSteps steps;
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

void Lane::start(const LaneWork& work) {
  work_ = work;
  slice_ = sliceOf(work);
  index_ = 0;
  length_ = work.program.length(work_.shape);
  shared_ = 0;
  waitsFor_ = -1;
  if (work_.label != 0)
    for (SendEnd* to : work_.to)
      if (to != nullptr) to->label(work_.label);
  open_ = next();
}

// Turns to the next instruction that moves anything.
bool Lane::next() {
  done_ = 0;
  while (index_ < length_) {
    // Built where it stays: a copy of what was just written in pieces would stall.
    ::new (&now_) Instruction(work_.program.at(work_.shape, index_++));
    if (now_.count > 0) return true;
  }
  return false;
}

Progress Lane::step() {
  try {
    return goOn();
  } catch (...) {
    putDown();
    throw;
  }
}

// Of what was peeked at, before this thread turns to something else.
void Lane::putDown() {
  for (RecvEnd* from : work_.from)
    if (from != nullptr) from->putDown();
}

Progress Lane::goOn() {
  bool advanced = false;
  while (open_) {
    const std::size_t left = now_.count - done_;
    const bool local = (now_.from | now_.to) == 0;
    const std::size_t n = local ? left : std::min(left, slice_);
    if (!slice(n)) {
      putDown();
      for (SendEnd* to : work_.to)
        if (to != nullptr) to->push();
      return advanced ? Progress::kAdvanced : Progress::kWouldBlock;
    }
    advanced = true;
    done_ += n;
    if (n == left) open_ = next();
  }
  if (drained()) return Progress::kDone;
  return advanced ? Progress::kAdvanced : Progress::kWouldBlock;
}

bool Lane::slice(std::size_t n) {
  if (now_.from == 0) return give(n);
  return now_.own ? reduce(n) : pass(n);
}

// Own data, to other ranks or only to `out`.
bool Lane::give(std::size_t n) {
  const Reduction& reduction = work_.reduction;
  const std::size_t bytes = n * reduction.elementBytes;
  std::byte* slot = nullptr;
  if (now_.to != 0 && (slot = room()) == nullptr) return false;

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

// What comes in, to `out` and to other ranks.
bool Lane::pass(std::size_t n) {
  assert(std::has_single_bit(now_.from));
  RecvEnd& from = *work_.from[lowest(now_.from)];
  const std::size_t bytes = n * work_.reduction.elementBytes;
  if (now_.to != 0 && room() == nullptr) return false;
  if (now_.out) {
    if (!from.take(work_.protocol, out(), bytes)) return blockedBy(from.peer());
    if (now_.to != 0) send(now_.out, out(), bytes);
    return true;
  }
  const std::byte* data = from.peek(work_.protocol, bytes);
  if (data == nullptr) return blockedBy(from.peer());
  // It goes away with the step: copied, as scratch is.
  send(inScratch(0), data, bytes);
  from.release(work_.protocol);
  return true;
}

// What comes in, combined with own data, to `out` or straight into the slot, and to other ranks.
bool Lane::reduce(std::size_t n) {
  const std::size_t bytes = n * work_.reduction.elementBytes;
  std::array<const std::byte*, kMostIncoming> incoming;
  std::size_t found = 0;
  for (QueueMask left = now_.from; left != 0; left &= left - 1) {
    RecvEnd& from = *work_.from[lowest(left)];
    assert(found < kMostIncoming);
    incoming[found] = from.peek(work_.protocol, bytes);
    if (incoming[found] == nullptr) return blockedBy(from.peer());
    ++found;
  }
  std::byte* slot = nullptr;
  if (now_.to != 0 && (slot = room()) == nullptr) return false;

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

void Lane::combine(std::byte* result, std::span<const std::byte* const> incoming, const std::byte* mine,
                   std::size_t n) const {
  const Reduction& reduction = work_.reduction;
  const bool raw = isRaw() && !now_.ownFirst;
  const Reduction::Combine first = raw ? reduction.combine : reduction.merge;
  if (incoming.size() == 1) {
    const std::byte* left = incoming[0];
    const std::byte* right = mine;
    if (now_.ownFirst) std::swap(left, right);
    if (now_.finish)
      (raw ? reduction.finish : reduction.finishMerge)(result, nullptr, left, right, n, reduction.factor);
    else
      first(result, left, right, n, reduction.factor);
    return;
  }
  const std::size_t block = kBlockBytes / reduction.elementBytes;
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t length = std::min(block, n - start);
    const std::size_t at = start * reduction.elementBytes;
    first(result + at, incoming[0] + at, mine + at, length, reduction.factor);
    for (std::size_t i = 1; i < incoming.size(); ++i) {
      const std::byte* more = incoming[i] + at;
      if (now_.finish && i + 1 == incoming.size())
        reduction.finishMerge(result + at, nullptr, more, result + at, length, reduction.factor);
      else
        reduction.merge(result + at, more, result + at, length, reduction.factor);
    }
  }
}

// The first queue's slot once all queues have room; null before.
std::byte* Lane::room() {
  std::byte* first = nullptr;
  for (QueueMask left = now_.to; left != 0; left &= left - 1) {
    SendEnd& to = *work_.to[lowest(left)];
    std::byte* slot = to.reserve(work_.protocol);
    if (slot == nullptr) {
      blockedBy(to.peer());
      return nullptr;
    }
    if (first == nullptr) first = slot;
  }
  return first;
}

// All queues have room. `place`: where the data lies, and so whether it will stay.
void Lane::send(const Place& place, const std::byte* data, std::size_t bytes) {
  const bool stays = place.buffer != Buffer::kScratch && !now_.changes;
  for (QueueMask left = now_.to; left != 0; left &= left - 1) {
    SendEnd& to = *work_.to[lowest(left)];
    [[maybe_unused]] const bool sent =
        stays ? to.share(work_.protocol, data, bytes) : to.send(work_.protocol, data, bytes);
    assert(sent);
  }
  if (stays) shared_ |= now_.to;
}

void Lane::sendReserved(std::byte* slot, std::size_t bytes) {
  for (QueueMask left = now_.to & (now_.to - 1); left != 0; left &= left - 1)
    work_.to[lowest(left)]->send(work_.protocol, slot, bytes);
  work_.to[lowest(now_.to)]->commit(work_.protocol, bytes);
}

bool Lane::drained() {
  for (QueueMask left = shared_; left != 0; left &= left - 1) {
    SendEnd& to = *work_.to[lowest(left)];
    if (!to.drained()) return blockedBy(to.peer());
  }
  return true;
}

bool Lane::blockedBy(int peer) {
  waitsFor_ = peer;
  return false;
}

const std::byte* Lane::own() const {
  const std::size_t at = (now_.own.offset + done_) * work_.reduction.elementBytes;
  const LaneBuffers& buffers = work_.buffers;
  if (now_.own.buffer == Buffer::kInput) return buffers.input + at;
  return (now_.own.buffer == Buffer::kOutput ? buffers.output : buffers.scratch) + at;
}

std::byte* Lane::out() const {
  const std::size_t at = (now_.out.offset + done_) * work_.reduction.elementBytes;
  return (now_.out.buffer == Buffer::kOutput ? work_.buffers.output : work_.buffers.scratch) + at;
}

}  // namespace xylem
